"""What a SavedModel is asked to translate: sentences with their prefixes and required phrases.

Phrases are checked here as a run checks them, before a graph is called.
"""

import functools
from typing import NamedTuple

from t2t_keras.export.signature_constants import REQUIRED_LONGEST
from t2t_keras.translating.required_phrases import PhraseEncoder
from t2t_keras.translating.translator import Translator


class Row(NamedTuple):
    """A sentence, or one part of a sentence that is too long for its phrases.

    Args:
        text: the sentence.
        prefix: text that its translations begin with.
        phrases: normalized phrases that its translations contain.
    """

    text: str
    prefix: str = ""
    phrases: tuple = ()


class RowMaker:
    """Turns the sentences of texts into `Row`s.

    Args:
        tokenizer: the vocabulary's tokenizer.
        config: the `SearchConfig`.
        longest: maximum length of a source and of an output, in tokens. None: no maximum.
        requirements: the `Requirements` of the texts.
    """

    def __init__(self, tokenizer, config, longest, requirements):
        self.tokenizer, self.config, self.longest = tokenizer, config, longest
        self.requirements = requirements

    @functools.cached_property
    def translator(self):
        """A `Translator` that divides sentences and checks phrases, but does not search."""
        target = self.tokenizer.target
        if target.ends_word is not None:
            target.ends_phrase()  # raises the error that says why phrases cannot be required
        phrases = PhraseEncoder(target, self.config, self.longest)
        return Translator(self.tokenizer, None, longest=self.longest, phrases=phrases)

    def rows(self, sentences, prefix, index):
        """Returns a list of `Row`s for each sentence of a text.

        Args:
            sentences: the text's sentences.
            prefix: text that its translations begin with. The first part has it.
            index: index of the text.
        """
        rows = []
        for sentence in sentences:
            of_sentence = []
            for text, phrases in self.parts(sentence, index):
                start = prefix if prefix and self.has_pieces(text) else ""
                if start:
                    prefix = ""
                of_sentence.append(Row(text, start, self.checked(phrases, start)))
            rows.append(of_sentence)
        return rows

    def parts(self, sentence, index):
        """Returns the parts of a sentence and the phrases that the translation of each contains."""
        source = self.tokenizer.source
        if not self.requirements.of_sentence(source.split_code(sentence)[1], index):
            return [(sentence, [])]  # the graph itself divides it, if it is too long
        ids = source.encode([sentence])[0]
        parts = self.translator.parts(ids, sentence, index, self.requirements)
        if len(parts) == 1:
            return [(sentence, parts[0][1])]
        texts = source.decode([ids[len(source.start) :] for ids, _ in parts])
        return [(text, phrases) for text, (_, phrases) in zip(texts, parts, strict=True)]

    def has_pieces(self, text):
        """Returns whether anything of a text is left to translate."""
        source = self.tokenizer.source
        ids = source.encode([text])[0]
        return len(ids) > source.lead(ids)

    def checked(self, phrases, prefix):
        """Returns phrases as the graph takes them. Raises `ValueError` if one cannot be written."""
        if not phrases:
            return ()
        start = self.tokenizer.target.encode([prefix])[0] if prefix else ()
        count = sum(map(len, self.translator.phrases.ids_of(phrases, start)))
        if count > REQUIRED_LONGEST:
            raise ValueError(
                f"the required phrases of a sentence have {count:,} pieces together, but an "
                f"exported model takes at most {REQUIRED_LONGEST}. Require fewer, or give the run"
            )
        # White space is normalized, so no phrase contains a tab.
        return tuple(map(self.tokenizer.normalization, phrases))
