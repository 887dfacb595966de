"""The signatures of a model that translate: from a request's arrays to `Request`s and back.

Their inputs are made from the fields of `Request`. This file does not load TensorFlow.
"""

import dataclasses
import functools
import typing

import numpy as np

from t2t_keras.checks import check
from t2t_keras.export.signature_names import ATTENTION_LONGEST, BEST, LISTS, NO_SCORE, OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.signatures import Signature, metadata_of
from t2t_keras.serving.tensors import Spec
from t2t_keras.translating.request import Request, TextError
from t2t_keras.translating.required_phrases import glossary_in
from t2t_keras.translating.translator import Translator

TEXTS = Spec("string", (None,))
LONGEST_GLOSSARY = 1_000_000  # bytes; the limit on a request's body applies, too
GLOSSARIES = 8  # kept in memory, for requests that repeat them
GLOSSARY_ENTRY = 500  # bytes of memory for an entry of a glossary, about
DTYPES = {int: "int32", float: "float32", bool: "bool"}
SEPARATED = ("require", "banned", "first")  # strings with tabs between phrases or pieces
# Requests with these take longer in Python.
SLOW = ("glossary", "markup", "alignments", "confidence")


class Translations:
    """The signatures of a model that translate.

    Args:
        engine: its engine.
        to: see `Translator`.
    """

    def __init__(self, engine, to=None):
        self.translator = Translator(engine, to, ATTENTION_LONGEST)
        self.config, self.widths = engine.config, {BEST: None, LISTS: engine.most}
        self.widths[OPTIONS] = engine.config.beam
        self.glossary = functools.lru_cache(GLOSSARIES)(self.parsed_glossary)
        options = {"text": TEXTS} | {name: self.spec(name) for name in sorted(self.offered())}
        inputs = {BEST: {"text": TEXTS}, LISTS: {"text": TEXTS}, OPTIONS: options}
        self.signatures = {
            name: Signature(name, inputs[name], self.outputs(name), True, None) for name in inputs
        }
        self.metadata = {name: metadata_of(each) for name, each in self.signatures.items()}

    def offered(self):
        """Returns the names of the options that requests may have."""
        engine = self.translator.engine
        names = {"split", *engine.offers}
        if any(engine.tags):
            names.add("to")
        names |= {"prefix"} if can(engine.check, self.config, True, False) else set()
        names |= {"glossary", "require"} if can(engine.check, self.config, False, True) else set()
        names |= {"alignments", "markup"} if can(engine.check_attention) else set()
        return names | {"confidence"}

    def spec(self, name):
        """Returns the `Spec` of an option."""
        if name == "split":
            return Spec("bool", (None,), self.translator.engine.split == "auto")
        field = next(each for each in dataclasses.fields(Request) if each.name == name)
        kinds = [kind for kind in (field.type, *typing.get_args(field.type)) if kind in DTYPES]
        if not kinds:
            longest = LONGEST_GLOSSARY if name == "glossary" else None
            return Spec("string", (None,), "", longest)
        default = field.default if field.default is not None else getattr(self.config, name)
        return Spec(DTYPES[kinds[0]], (None,), default)

    def outputs(self, name):
        """Returns the outputs of a signature, {name: `Spec`}."""
        each = (None,) if self.widths[name] is None else (None, self.widths[name])
        outputs = {"scores": Spec("float32", each), "translations": Spec("string", each)}
        if name == OPTIONS and "confidence" in self.offered():
            outputs |= dict.fromkeys(("alignments", "confidence", "words"), Spec("string", each))
            outputs["source_words"] = TEXTS
        return outputs

    def parsed_glossary(self, text):
        return glossary_in(text, self.translator.engine.tokenizer.normalization)

    def requests(self, name, inputs, split):
        """Returns a `Request` for each row.

        Args:
            name: the signature.
            inputs: arrays by name.
            split: whether texts are split if the inputs do not say so.
        """
        columns = {key: as_strings(array.tolist()) for key, array in inputs.items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        requests = []
        for index, row in enumerate(rows):
            row.setdefault("n_best", self.widths[name] or 1)
            try:
                requests.append(self.request(row, split))
            except ValueError as error:
                raise refusal(index, error) from error
        return requests

    def request(self, row, split):
        """Returns the `Request` of a row, a dict."""
        row["split"] = "auto" if row.pop("split", split) else "off"
        for name in SEPARATED:
            if name in row:
                row[name] = [each for each in row[name].split("\t") if each.strip()]
        for name in row.keys() & {"markup", "to", "banned", "first"}:
            row[name] = row[name] or None
        if "glossary" in row:
            row["glossary"] = self.glossary(row["glossary"]) if row["glossary"] else None
        # A float32 of the server's own value is that value.
        for name, value in row.items():
            own = getattr(self.config, name, None)
            if isinstance(own, float) and value == np.float32(own):
                row[name] = own
        beam = row.get("beam", self.config.beam)
        check(beam <= self.config.beam, "beam", beam, f"at most {self.config.beam}")
        return Request(**row)

    def arrays(self, name, requests, results):
        """Returns the outputs for requests and the `Translation`s of each, arrays by name.

        Args:
            name: the signature.
            requests: `Request`s.
            results: the `Translation`s of each, best first.
        """
        width = self.widths[name] or 1
        shape = len(requests), width
        outputs = {"translations": empty(shape), "scores": np.full(shape, NO_SCORE, "float32")}
        wanted = {
            "alignments": any(each.alignments for each in requests),
            "confidence": any(each.confidence for each in requests),
        }
        outputs |= {key: empty(shape) for key, is_wanted in wanted.items() if is_wanted}
        if any(wanted.values()):
            outputs |= {"words": empty(shape), "source_words": empty(shape[:1])}
        for row, (request, found) in enumerate(zip(requests, results, strict=True)):
            for rank, each in enumerate(found[:width]):
                place = row, rank
                outputs["translations"][place] = as_bytes(each.text)
                outputs["scores"][place] = each.score
                if request.alignments:
                    links = (f"{i}-{j}" for i, j in each.alignment)
                    outputs["alignments"][place] = " ".join(links).encode()
                if request.confidence:
                    rated = (f"{word:.4f}" for word in each.confidence)
                    outputs["confidence"][place] = " ".join(rated).encode()
                if request.alignments or request.confidence:
                    sides = (as_bytes(" ".join(side)) for side in each.words[:2])
                    outputs["source_words"][row], outputs["words"][place] = sides
        if self.widths[name] is None:
            return {key: array[:, 0] for key, array in outputs.items()}
        return outputs


def can(check, *arguments):
    """Returns whether a check passes."""
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


def is_slow(requests):
    """Returns whether Python takes long for some of the requests."""
    return any(getattr(each, name) for each in requests for name in SLOW)


def glossary_memory(requests):
    """Returns about how many bytes the glossaries of requests hold."""
    glossaries = {id(each.glossary): each.glossary for each in requests if each.glossary}
    return GLOSSARY_ENTRY * sum(map(len, glossaries.values()))


def refusing(steps):
    """Does what a generator of `Translator.steps` does, with refusals for texts' errors."""
    try:
        return (yield from steps)
    except TextError as error:
        raise refusal(error.index, error) from error


def refusal(row, error):
    """Returns the `Refusal` for a mistake of a row."""
    return Refusal(400, f"Row {row}: {error}")


def as_strings(values):
    """Returns values with bytes decoded."""
    return [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in values]


def as_bytes(text):
    return text.encode("utf-8", "replace")


def empty(shape):
    return np.full(shape, b"", object)
