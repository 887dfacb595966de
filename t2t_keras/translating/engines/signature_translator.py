"""Translates text through the signatures of a SavedModel. It loads no TensorFlow.

It is to a SavedModel what `Translator` is to a model: commands and the server use it.
"""

import copy
import dataclasses
import functools
import math
from pathlib import Path

import numpy as np

from pipelines.tags import tagged
from pipelines.tokenizers import load_tokenizer
from t2t_keras.decoding.tree_vocabulary import ONLY_TREES
from t2t_keras.export.signature_constants import ALIGN, NO_SCORE, OPTIONS, SCORE_PIECES
from t2t_keras.translating.engines.signature_rows import Row, RowMaker
from t2t_keras.translating.engines.signature_words import SignatureWords, array_of
from t2t_keras.translating.export_folders import longest_of, search_of, tag_of
from t2t_keras.translating.markup.marked_translation import MarkedTranslator
from t2t_keras.translating.required_phrases import Requirements
from t2t_keras.translating.sentences import joined_sentences, whole, with_codes
from t2t_keras.translating.text_error import in_text
from t2t_keras.translating.translator import Translation, joined

BATCH = 256  # texts per call


class SignatureTranslator:
    """Translates text through the signatures of a SavedModel.

    Args:
        call: function from the name of a signature and arrays by the names of its inputs to arrays
            by the names of its outputs.
        folder: the SavedModel's folder, with the vocabulary, the tag and the search settings.
        names: names of the signatures that the SavedModel has.
    """

    def __init__(self, call, folder, names):
        self.call, self.folder, self.names = call, Path(folder), frozenset(names)
        self.config = search_of(self.folder)
        if self.config is None or "score" not in self.names:
            raise ValueError(
                f"{folder} is not a SavedModel that takes text. Write one with t2t-export RUN, "
                "without --ids_only"
            )

    @functools.cached_property
    def tokenizer(self):
        """The tokenizer of the vocabulary, which puts the tag before sources."""
        return tagged(load_tokenizer(self.folder / "vocabulary"), tag_of(self.folder))

    @functools.cached_property
    def longest(self):
        """Maximum length of a source and of a translation, in tokens. None: no maximum."""
        return longest_of(self.folder)

    def read(self):
        """Reads now what is otherwise read from the folder when it is needed."""
        return self.tokenizer, self.longest

    def calling(self, call):
        """Returns a translator that has read the same and calls the signatures by `call`."""
        other = copy.copy(self)
        other.call = call
        other.__dict__.pop("word_signatures", None)  # it has the other function
        return other

    def translate(
        self,
        texts,
        on_progress=lambda count: None,
        split=whole,
        prefixes=None,
        requirements=None,
        beam=None,
        n_best=None,
        alpha=None,
    ):
        """Translates each text, like `Translator.translate`.

        Only sentences that need a different search take the signature with options.

        Args:
            texts: a list of strings, or of objects that `split` divides.
            on_progress: called with the number of texts translated so far.
            split: function from a text to its sentences and the separators between them. By
                default, a text is one sentence.
            prefixes: for each text, the text that its translations begin with. None: no prefixes.
            requirements: `Requirements`: phrases that translations must contain, searched for with
                the exported beam width. None: no phrases.
            beam: beam width, at most the exported one. None: the exported one.
            n_best: number of translations, at most the beam width. None: the exported number.
            alpha: exponent of the length penalty. None: the exported one.

        Returns:
            A list of `Translation`s for each text, best first. Their parts are pairs of texts:
            a sentence and its translation.

        Raises:
            ValueError: for a search that the SavedModel does not offer. `TextError`: for a text
                whose phrases cannot be required.
        """
        config = self.search(beam, n_best, alpha)
        self.check_search(config, prefixes is not None, requirements is not None)
        wanted = Requirements() if requirements is None else requirements
        divided = [
            (whole if wanted.of_text(index) else split)(text) for index, text in enumerate(texts)
        ]
        sentences = [self.coded(sentences) for sentences, _ in divided]
        rows = self.rows(sentences, prefixes, requirements, config)
        flat = [row for of_text in rows for of_sentence in of_text for row in of_sentence]

        def advanced(count):
            on_progress(len(texts) * count // len(flat))

        translated = iter(self.translate_rows(flat, config, advanced))
        results = []
        for of_text, (_, separators) in zip(rows, divided, strict=True):
            parts = [[next(translated) for _ in of_sentence] for of_sentence in of_text]
            sentences = [each[0] if len(each) == 1 else joined(each) for each in parts]
            results.append(joined_sentences(sentences, separators))
        return results

    def coded(self, sentences):
        """Puts the language code of a text before each of its sentences."""
        if not any(">>" in sentence for sentence in sentences):
            return sentences  # the vocabulary need not be read
        return with_codes(sentences, self.tokenizer.source.split_code)

    def rows(self, texts, prefixes, requirements, config):
        """Returns a list of `Row`s for each sentence of each text, given its sentences."""
        if prefixes is None and requirements is None:  # the vocabulary need not be read
            return [[[Row(sentence)] for sentence in sentences] for sentences in texts]
        prefixes = [""] * len(texts) if prefixes is None else prefixes
        maker = RowMaker(self.tokenizer, config, self.longest, requirements or Requirements())
        rows = []
        for index, (sentences, prefix) in enumerate(zip(texts, prefixes, strict=True)):
            with in_text(index):
                rows.append(maker.rows(sentences, prefix, index))
        return rows

    def search(self, beam=None, n_best=None, alpha=None):
        """Returns the `SearchConfig` of the export with changes; None changes nothing."""
        if beam is not None and n_best is None:
            n_best = min(self.config.n_best, beam)
        changes = {"beam": beam, "n_best": n_best, "alpha": alpha}
        changes = {name: value for name, value in changes.items() if value is not None}
        config, widest = dataclasses.replace(self.config, **changes), self.config.beam
        config.validate()
        if config.beam > widest:
            raise ValueError(
                f"`beam` must be at most {widest}, the beam width of {self.folder}. Received: "
                f"{beam}. For a wider one, give the run, or export it again with t2t-export "
                f"--beam={beam}"
            )
        return config

    def check_search(self, config, prefixes=False, phrases=False):
        """Rejects a search that the SavedModel does not offer.

        Args:
            config: the `SearchConfig`.
            prefixes, phrases: whether texts may have prefixes and required phrases.
        """
        if config.constrain and (prefixes or phrases):
            raise ValueError(ONLY_TREES)
        if prefixes or not self.is_exported(config):
            self.check_has(OPTIONS, "change its search")
        if not phrases:
            return
        self.check_has(SCORE_PIECES, "search for phrases")  # exports have both or neither
        if config.beam != self.config.beam:
            raise ValueError(
                f"phrases are searched for with the exported beam width, {self.config.beam}. "
                f"Received: beam={config.beam}. Leave it out, or give the run"
            )

    def is_exported(self, config):
        """Returns whether the signature without options does the search."""
        exported = self.config
        same = (config.beam, config.alpha) == (exported.beam, exported.alpha)
        return same and config.n_best <= exported.n_best

    def translate_rows(self, rows, config, on_progress):
        """Returns the n-best `Translation`s of each `Row`."""
        results, done = [None] * len(rows), 0
        exported = self.is_exported(config)
        plain = [exported and not (row.prefix or row.phrases) for row in rows]
        for is_plain, translate in ((True, self.as_exported), (False, self.with_options)):
            indices = [index for index, each in enumerate(plain) if each == is_plain]
            for start in range(0, len(indices), BATCH):
                batch = indices[start : start + BATCH]
                outputs = translate([rows[index] for index in batch], config)
                lists = (outputs[name].tolist() for name in ("translations", "scores"))
                for index, *found in zip(batch, *lists, strict=True):
                    results[index] = translations_of(rows[index].text, *found)[: config.n_best]
                done += len(batch)
                on_progress(done)
        return results

    def as_exported(self, rows, config):
        """Returns the outputs of the exported search."""
        return self.call("translate_n_best", {"text": array_of(row.text for row in rows)})

    def with_options(self, rows, config):
        """Returns the outputs of a search with other settings, with prefixes and phrases."""
        count = len(rows)
        inputs = {
            "text": array_of(row.text for row in rows),
            "split": np.zeros(count, bool),
            "prefix": array_of(row.prefix for row in rows),
            "beam": np.full(count, config.beam, "int32"),
            "n_best": np.full(count, config.n_best, "int32"),
            "alpha": np.full(count, config.alpha, "float32"),
        }
        if SCORE_PIECES in self.names:  # earlier exports have neither
            inputs["require"] = array_of("\t".join(row.phrases) for row in rows)
        return self.call(OPTIONS, inputs)

    def marked(self, markup):
        """Returns a `MarkedTranslator`, which translates texts with markup.

        In a sentence that is too long to align, marks are placed by the order of the words.

        Args:
            markup: "html", "xml" or "placeholders".
        """
        self.check_has(ALIGN, "align words")
        align, split_code = self.word_signatures.patient_aligner(), self.tokenizer.source.split_code
        return MarkedTranslator(self.translate, markup, align, self.words, split_code)

    def aligner(self):
        """Returns a function from a `Translation` to its (source word, target word) indices."""
        self.check_has(ALIGN, "align words")
        return self.word_signatures.aligner()

    def words(self, translation):
        """Returns the source words and the target words that an aligner counts, as two lists."""
        return self.word_signatures.words(translation)

    def confidence(self, translations):
        """Returns the confidence of each target word of each `Translation`.

        It is the smallest probability of the word's pieces.
        """
        self.check_has(SCORE_PIECES, "rate words")
        return self.word_signatures.confidence(translations)

    @functools.cached_property
    def word_signatures(self):
        return SignatureWords(self.call, self.tokenizer, self.longest)

    def check_has(self, name, ability):
        if name not in self.names:
            raise ValueError(
                f"{self.folder} cannot {ability}: an earlier version wrote it. Export the run "
                "again with t2t-export"
            )


def translations_of(source, texts, scores):
    """Returns the `Translation`s in a row of a signature's outputs."""
    return [
        Translation(text.decode(), score, [(source, text.decode())])
        for text, score in zip(texts, scores, strict=True)
        if not math.isclose(score, NO_SCORE)
    ]
