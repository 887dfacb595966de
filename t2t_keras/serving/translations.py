"""The signatures that translate: arrays become `Request`s, and translations become arrays.

The fields of `Request` define the inputs. This module does not import TensorFlow.
"""

import dataclasses
import functools
import typing

import numpy as np

from t2t_keras.checks import check
from t2t_keras.export.signature_names import ATTENTION_LONGEST, BEST, LISTS, NO_SCORE, OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.signatures import ServedSignature, metadata_of
from t2t_keras.serving.tensors import Spec
from t2t_keras.translating.request import Request, TextError
from t2t_keras.translating.required_phrases import glossary_in, loaded_glossary
from t2t_keras.translating.translator import Translator

TEXTS = Spec("string", (None,))
LONGEST_GLOSSARY = 1_000_000  # bytes; the limit on a request's body also applies
GLOSSARIES = 8  # glossaries kept in memory, for requests that repeat them
GLOSSARY_ENTRY = 500  # approximate bytes of memory for a glossary entry
MARKUP_CHARACTER = 130  # approximate bytes of memory for a character of a text full of tags
DTYPES = {int: "int32", float: "float32", bool: "bool"}  # {type of a field: dtype of its input}
SEPARATED = ("require", "banned", "first")  # inputs with phrases or pieces separated by tabs
# Options that make the Python code of a request slow.
SLOW = ("glossary", "markup", "alignments", "confidence")


class Translations:
    """The signatures of a model that translate texts.

    Args:
        engine: the model's engine.
        to: see `Translator`.
    """

    def __init__(self, engine, to=None):
        self.translator = Translator(engine, to, ATTENTION_LONGEST)
        self.config, self.widths = engine.config, {BEST: None, LISTS: engine.most}
        self.widths[OPTIONS] = engine.config.beam
        self.glossary = functools.lru_cache(GLOSSARIES)(self.parsed_glossary)
        self.default_glossary = None
        options = {"text": TEXTS} | {name: self.spec(name) for name in sorted(self.offered())}
        inputs = {BEST: {"text": TEXTS}, LISTS: {"text": TEXTS}, OPTIONS: options}
        self.signatures = {
            name: ServedSignature(name, inputs[name], self.outputs(name), True, None)
            for name in inputs
        }
        self.metadata = {name: metadata_of(each) for name, each in self.signatures.items()}

    def offered(self):
        """Returns the names of the options that requests may use."""
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

    def use_glossary(self, path):
        """Applies the glossary in a file to each request without a glossary of its own."""
        engine = self.translator.engine
        found = loaded_glossary(path, engine.tokenizer.normalization, engine)
        self.translator.check({"glossary": found})
        self.default_glossary = found

    def chosen_glossary(self, given):
        """Returns the `Glossary` of a request, given as text or dict; without one, the model's."""
        if isinstance(given, dict):
            return loaded_glossary(given, self.translator.engine.tokenizer.normalization)
        return self.glossary(given) if given else self.default_glossary

    def parsed_glossary(self, text):
        return glossary_in(text, self.translator.engine)

    def requests(self, name, inputs, split):
        """Returns a `Request` for each row.

        Args:
            name: name of the signature.
            inputs: {input: array}.
            split: whether to split texts, if there is no input "split".
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
        row["glossary"] = self.chosen_glossary(row.get("glossary"))
        # A value that equals the server's setting when rounded to float32 means that setting.
        for name, value in row.items():
            own = getattr(self.config, name, None)
            if isinstance(own, float) and value == np.float32(own):
                row[name] = own
        beam = row.get("beam", self.config.beam)
        check(beam <= self.config.beam, "beam", beam, f"at most {self.config.beam}")
        return Request(**row)

    def arrays(self, name, requests, results):
        """Returns {output: array} for requests and their translations.

        Args:
            name: name of the signature.
            requests: `Request`s.
            results: the `Translation`s of each request, best first.
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
    """Returns whether a check passes, that is, raises no `ValueError`."""
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


def is_slow(requests):
    """Returns whether the Python code of some requests is slow."""
    return any(getattr(each, name) for each in requests for name in SLOW)


def glossary_memory(requests, default=None):
    """Estimates the memory of all glossaries of requests, except the model's own, in bytes."""
    glossaries = {id(each.glossary): each.glossary for each in requests if each.glossary}
    glossaries.pop(id(default), None)
    return GLOSSARY_ENTRY * sum(map(len, glossaries.values()))


def markup_memory(requests):
    """Estimates the memory of the parsed markup of requests, in bytes."""
    return MARKUP_CHARACTER * sum(len(each.text) for each in requests if each.markup)


def refusing(steps):
    """Wraps a generator of `Translator.steps`, and turns each `TextError` into a `Refusal`."""
    try:
        return (yield from steps)
    except TextError as error:
        raise refusal(error.index, error) from error


def refusal(row, error):
    """Returns the `Refusal` for an error in a row."""
    return Refusal(400, f"Row {row}: {error}")


def as_strings(values):
    """Returns a list of values, with bytes decoded to strings."""
    return [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in values]


def as_bytes(text):
    return text.encode("utf-8", "replace")


def empty(shape):
    return np.full(shape, b"", object)
