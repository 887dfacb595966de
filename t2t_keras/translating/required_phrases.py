"""Phrases that translations must contain: collected from requests and encoded as ids."""

import collections
import functools

from pipelines.glossaries.glossary import Glossary
from t2t_keras.decoding.rows import BEGIN

HINT = "Write it differently, or leave it out"
REQUIRED_LONGEST = 256  # maximum tokens of the phrases in a search


def loaded_glossary(glossary, engine):
    """Returns the `Glossary` of a request, or None.

    Args:
        glossary: see `Request`.
        engine: the engine. Its languages select the terms of a file with several languages.
    """
    if glossary is None or isinstance(glossary, Glossary):
        return glossary
    if isinstance(glossary, dict):
        return Glossary(glossary, engine.tokenizer.normalization)
    return Glossary.read(glossary, engine.tokenizer.normalization, engine.languages())


def glossary_in(text, engine):
    """Returns the `Glossary` in the text of a glossary's file."""
    normalization = engine.tokenizer.normalization
    return Glossary.parse(text.encode(), "`glossary`", normalization, engine.languages())


def phrases_of(required, matches):
    """Returns the phrases that a translation must contain, each as often as it must occur.

    Args:
        required: phrases of the request. One that a glossary requires as well is required once.
        matches: the `Matches` of a glossary.
    """
    phrases = collections.Counter(required) | collections.Counter(matches.targets())
    return [*phrases.elements()]


class PhraseEncoder:
    """Encodes phrases, and rejects phrases that no translation can contain.

    Args:
        tokenizer: tokenizer of the target language, with `encode`, `decode`, `normalization`,
            `pieces` and `begins_word`.
        config: the `SearchConfig`.
        longest: maximum length of an output, in tokens. None: no maximum.
        room: maximum number of pieces in the phrases of a sentence. None: no maximum.
    """

    def __init__(self, tokenizer, config, longest=None, room=None):
        self.tokenizer, self.config, self.longest = tokenizer, config, longest
        self.room = room
        self.encoded = functools.cache(self.checked)

    def ids_of(self, phrases, prefix):
        """Returns a list of ids for each phrase of a sentence.

        Args:
            phrases: texts.
            prefix: ids that the translation begins with.
        """
        if self.config.method != "beam":
            others = "samples" if self.config.method == "sample" else repr(self.config.method)
            raise ValueError(
                f"phrases can be required from beam search only, not from {others}. Leave out "
                "--sample or --method, or --glossary and --require"
            )
        if self.tokenizer.ends_word is not None:
            self.tokenizer.ends_phrase()  # raises an error if phrases are not supported
        ids = [self.encoded(phrase) for phrase in phrases]
        count = sum(map(len, ids))
        if self.room is not None and count > self.room:
            raise ValueError(
                f"the required phrases of a sentence have {count:,} pieces together, but an "
                f"exported model takes at most {self.room}. Require fewer, or give the run"
            )
        total = len(prefix) + count
        if self.longest is not None and total > self.longest:
            raise ValueError(
                f"the required phrases of a sentence and its prefix have {total:,} pieces "
                f"together, but the model writes at most {self.longest:,}. Require fewer phrases"
            )
        return ids

    def are_long(self, phrases):
        """Returns whether the phrases of a glossary take more than half of the room in a search.

        The other half is for the prefix and for phrases of the text itself. In addition, time and
        memory grow with the phrases.
        """
        room = min(REQUIRED_LONGEST, self.longest or REQUIRED_LONGEST)
        return 2 * sum(len(self.encoded(phrase)) for phrase in phrases) > room

    def checked(self, phrase):
        """Returns the ids of a phrase; `encoded` remembers them."""
        tokenizer, text = self.tokenizer, self.tokenizer.normalization(phrase)
        ids = [int(id) for id in tokenizer.encode([text])[0] if id != BEGIN]
        written = tokenizer.decode([ids])[0]
        if not ids or written != text:
            raise ValueError(
                f"no translation can contain the phrase {phrase!r}: the vocabulary can only write "
                f"{written!r}. {HINT}"
            )
        if not tokenizer.begins_word[ids[0]]:
            raise ValueError(
                f"the phrase {phrase!r} cannot be required: in this vocabulary, it does not begin "
                f"with the beginning of a word. {HINT}"
            )
        banned = [id for id in ids if id in self.config.banned]
        if banned:
            piece = tokenizer.pieces(banned[:1])[0]
            raise ValueError(f"the required phrase {phrase!r} contains the banned piece {piece!r}")
        return ids
