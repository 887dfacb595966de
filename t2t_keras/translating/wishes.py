"""What requests to t2t-serve wish beyond a search: glossaries, markup, alignments, confidence.

They are fulfilled in Python, around the signatures of a SavedModel.
"""

import contextlib
import functools

import numpy as np

from pipelines.glossary import Glossary
from t2t_keras.export.signature_constants import ALIGN, NO_SCORE, OPTIONS, SCORE_PIECES
from t2t_keras.translating.engines.signature_translator import SignatureTranslator
from t2t_keras.translating.required_phrases import Requirements
from t2t_keras.translating.text_error import TextError, in_text

NEEDED = {OPTIONS, ALIGN, SCORE_PIECES}
# Texts with the same values of these are translated together.
ALIKE = ("split", "beam", "n_best", "alpha", "glossary", "markup")
GLOSSARIES = 8  # kept in memory, for requests that repeat them


def wishes_of(folder, names):
    """Returns the `Wishes` of a SavedModel, or None if it cannot fulfil any.

    Args:
        folder: the SavedModel's folder.
        names: names of its signatures.
    """
    return Wishes(folder, names) if NEEDED.issubset(names) else None


class Wishes:
    """Translates texts as their wishes say.

    Args:
        folder, names: see `wishes_of`. The folder is read now, because it may be removed later.

    Attributes:
        split_code: see `with_codes`.
    """

    def __init__(self, folder, names):
        self.translator = SignatureTranslator(None, folder, names)
        self.translator.read()
        self.split_code = self.translator.tokenizer.source.split_code
        self.glossary = functools.lru_cache(GLOSSARIES)(self.parsed_glossary)

    def parsed_glossary(self, text):
        return Glossary.parse(text.encode(), "`glossary`", self.translator.tokenizer.normalization)

    def __call__(self, inputs, call, divide):
        """Returns the outputs for a request, as arrays by name.

        Args:
            inputs: arrays by name, with a value for each text: those of `translate_with_options`,
                and "glossary", "markup", "alignments" and "confidence".
            call: see `SignatureTranslator`.
            divide: function from a text, and whether to split it, to its sentences and the
                separators between them.

        Returns:
            `translations` and `scores` [texts, widest beam]. If a text wishes for them, also
            `alignments` and `confidence`, of the same shape, and with either of them the words that
            they count, in `source_words` [texts] and `words`. Items of these are separated by
            spaces.

        Raises:
            ValueError: for a wish that cannot be fulfilled, with the index of its row.
        """
        translator = self.translator.calling(call)
        columns = {name: as_strings(array.tolist()) for name, array in inputs.items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        groups = {}
        for index, row in enumerate(rows):
            groups.setdefault(tuple(row[name] for name in ALIKE), []).append(index)
        results = [None] * len(rows)
        for indices in groups.values():
            with named_row(indices):
                found = self.translated(translator, [rows[index] for index in indices], divide)
            for index, translations in zip(indices, found, strict=True):
                results[index] = translations
        return outputs_of(rows, results, translator)

    def translated(self, translator, rows, divide):
        """Returns the `Translation`s of each of some rows with the same search."""
        first = rows[0]
        phrases = [[each for each in row["require"].split("\t") if each.strip()] for row in rows]
        glossary = self.glossary(first["glossary"]) if first["glossary"] else None
        requirements = Requirements(phrases, glossary) if glossary or any(phrases) else None
        prefixes = [row["prefix"] for row in rows]
        translate = translator.translate
        if first["markup"]:
            translate = translator.marked(first["markup"]).translate
        exported = np.float32(translator.config.alpha)
        return translate(
            [row["text"] for row in rows],
            split=functools.partial(divide, split=first["split"]),
            prefixes=prefixes if any(prefixes) else None,
            requirements=requirements,
            beam=first["beam"],
            n_best=first["n_best"],
            alpha=None if first["alpha"] == exported else first["alpha"],
        )


@contextlib.contextmanager
def named_row(indices):
    """Adds the index of the row to errors.

    Args:
        indices: the row of each text. Errors without a text concern all, so they name the first.
    """
    try:
        yield
    except ValueError as error:
        row = indices[error.index if isinstance(error, TextError) else 0]
        raise ValueError(f"Row {row}: {error}") from error


def as_strings(values):
    """Returns values with bytes decoded."""
    return [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in values]


def outputs_of(rows, results, translator):
    """Returns the outputs for rows and the `Translation`s of each; see `Wishes`."""
    shape = len(rows), translator.config.beam
    scores = np.full(shape, NO_SCORE, "float32")
    outputs = {"translations": empty(shape), "scores": scores}
    for place, translation in places_of(results):
        outputs["translations"][place] = translation.text.encode()
        scores[place] = translation.score
    for name, of_translations in (("alignments", alignments_of), ("confidence", confidence_of)):
        wanted = [each if row[name] else [] for row, each in zip(rows, results, strict=True)]
        if any(row[name] for row in rows):
            outputs[name], found = empty(shape), dict(places_of(wanted))
            with named_row([row for row, _ in found]):
                lines = of_translations(translator, found.values())
            for place, line in zip(found, lines, strict=True):
                outputs[name][place] = line.encode()
    if not outputs.keys().isdisjoint({"alignments", "confidence"}):
        outputs["source_words"], outputs["words"] = empty(shape[:1]), empty(shape)
        for place, translation in places_of(results):
            if rows[place[0]]["alignments"] or rows[place[0]]["confidence"]:
                sides = [" ".join(words).encode() for words in translator.words(translation)]
                outputs["source_words"][place[0]], outputs["words"][place] = sides
    return outputs


def empty(shape):
    return np.full(shape, b"", object)


def places_of(results):
    """Yields the (row, rank) and the `Translation` of each translation."""
    for row, translations in enumerate(results):
        for rank, translation in enumerate(translations):
            yield (row, rank), translation


def alignments_of(translator, translations):
    align, lines = translator.aligner(), []
    for index, each in enumerate(translations):
        with in_text(index):
            lines.append(" ".join(f"{i}-{j}" for i, j in align(each)))
    return lines


def confidence_of(translator, translations):
    rated = translator.confidence(translations)
    return [" ".join(f"{word:.4f}" for word in of_words) for of_words in rated]
