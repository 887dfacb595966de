"""`Request`: the only list of translation options.

Flags of commands, arguments in Python, inputs of the server and fields of its page are derived from
this list. The settings of the search come from `SearchConfig`, so a new setting is offered
everywhere. The `Args` of both docstrings are the descriptions of the options.
"""

import contextlib
import dataclasses
import functools
import inspect
import os
import re
from typing import Any

from pipelines.glossaries.glossary import Glossary
from pipelines.markup.marked_text import MARKUP
from t2t_keras.checks import check, check_choice, check_value, nearest
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.evaluation.metric_settings import METRICS

SPLIT = ("auto", "off")
GLOSSARIES = Glossary | dict | str | os.PathLike
MBR = "mbr", "mbr_metric", "comet_model"
SEARCH = tuple(field.name for field in dataclasses.fields(SearchConfig))
KINDS = {
    "text": (str | list, "a string"),
    "prefix": (str, "a text"),
    "require": (list | tuple, "a list of phrases"),
    "glossary": (GLOSSARIES | None, "a Glossary, a dictionary, or the path of a file"),
    "to": (str | None, "a tag or a language"),
    "alignments": (bool, "True or False"),
    "confidence": (bool, "True or False"),
    "comet_model": (str | None, "a path"),
}

# The settings of a search, all None by default, which means the engine's setting.
SearchChanges = dataclasses.make_dataclass(
    "SearchChanges",
    [
        (each.name, each.type | None, dataclasses.field(default=None, metadata=each.metadata))
        for each in dataclasses.fields(SearchConfig)
    ],
    kw_only=True,
)


@dataclasses.dataclass
class Request(SearchChanges):
    """A text to translate. It also has the fields of `SearchConfig`.

    Args:
        text: a string, or the pieces of a line of a document, see `Document` in
            `pipelines.markup.marked_text`.
        split: division into sentences: "auto" translates each sentence by itself and keeps the
            line breaks and spaces between sentences, "off" translates the text as one sentence.
            None: "auto", but "off" for a model of parse trees or of documents.
        prefix: text that every translation begins with.
        require: phrases that the translation must contain. A text with such phrases is one
            sentence.
        glossary: a `Glossary`, {source phrase: target phrase}, or the path of a glossary's file:
            TSV, CSV or TBX. Where a source phrase occurs, its target phrase is its translation.
        markup: kind of markup that is kept: tags, entities, placeholders such as {name} and %s,
            URLs and e-mail addresses. "html", "xml", or "placeholders" without tags. None: all of
            it is text.
        to: the tag before the source, or a language: "de" means "<2de>". None: the tag of the
            training data, if all of it has the same.
        alignments: word alignments of each translation, as pairs of word indices.
        confidence: confidence of each word of a translation, from 0 to 1.
        mbr: number of candidates for minimum Bayes risk; 0: off. The candidates of a sentence are
            samples, in number a multiple of the beam width, or the best translations of beam
            search. The score of a translation is its expected utility.
        mbr_metric: name of the metric that is the utility of `mbr`. None: chrf.
        comet_model: path of the checkpoint of a COMET model, for the metric comet.
    """

    text: Any
    split: str | None = dataclasses.field(default=None, metadata={"choices": SPLIT})
    prefix: str = ""
    require: list | tuple = ()
    glossary: Any = None
    markup: str | None = dataclasses.field(default=None, metadata={"choices": MARKUP})
    to: str | None = None
    alignments: bool = False
    confidence: bool = False
    mbr: int = 0
    mbr_metric: str | None = None
    comet_model: str | None = None

    def __post_init__(self):
        for name, (kind, allowed) in KINDS.items():
            check(isinstance(getattr(self, name), kind), name, getattr(self, name), allowed)
        are_texts = all(isinstance(each, str) for each in self.require)
        check(are_texts, "require", self.require, "a list of phrases")
        for name, choices in (("split", SPLIT), ("markup", MARKUP), ("mbr_metric", METRICS)):
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), choices)
        check_value("mbr", self.mbr, int, at_least=0, at_most=256)
        check(self.mbr or not self.mbr_metric, "mbr_metric", self.mbr_metric, "None without mbr")
        if self.markup and self.require:
            raise ValueError(
                "texts with markup can have a glossary, but no required phrases of their own. "
                "Leave out either the phrases or the markup"
            )

    def search(self):
        """Returns the settings of the search that the request changes."""
        changes = {name: getattr(self, name) for name in SEARCH}
        return {name: value for name, value in changes.items() if value is not None}


FIELDS = tuple(field.name for field in dataclasses.fields(Request) if field.name != "text")


def listed(texts):
    """Returns a list of texts, given a list or a single text."""
    return [texts] if isinstance(texts, str | Request) else list(texts)


def one_or_many(translate):
    """Extends a method of a list of texts: for a single text, it returns only its result."""

    @functools.wraps(translate)
    def extended(self, texts, *arguments, **options):
        results = translate(self, listed(texts), *arguments, **options)
        return results[0] if isinstance(texts, str | Request) else results

    return extended


def requests_of(texts, prefixes=None, require=None, **options):
    """Returns a `Request` for each text.

    Args:
        texts: a list of strings, of `Request`s, or of pieces of documents.
        prefixes: a list with a prefix for each text, or None.
        require: a list with a list of phrases for each text, or None.
        **options: values for fields of all requests. A `Request` keeps its other fields.
    """
    for name in options:
        if name not in FIELDS:
            raise ValueError(
                f"there is no option {name!r}{nearest(name, FIELDS)}. The options are "
                f"{', '.join(FIELDS)}"
            )
    texts = list(texts)
    own = [{} for _ in texts]
    for field, name, values in (("prefix", "prefixes", prefixes), ("require", "require", require)):
        check(not isinstance(values, str), name, values, "a list with an item for each text")
        if values is not None and len(values) != len(texts):
            raise ValueError(
                f"`{name}` must have an item for each text. Received: {len(values):,} for "
                f"{len(texts):,} texts"
            )
        for each, value in zip(own, values or [], strict=False):
            each[field] = value
    return [
        dataclasses.replace(text, **options | each)
        if isinstance(text, Request)
        else Request(text, **options | each)
        for text, each in zip(texts, own, strict=True)
    ]


class TextError(ValueError):
    """An error in one of several texts, which has this index."""

    def __init__(self, index, message):
        super().__init__(message)
        self.index = index


@contextlib.contextmanager
def in_text(index):
    """Turns a `ValueError` into a `TextError` with this index."""
    try:
        yield
    except ValueError as error:
        raise TextError(index, str(error)) from error


def descriptions(cls):
    """Returns {field: description} from the `Args` in the docstrings of a class and its bases."""
    found = {}
    for each in reversed(cls.__mro__[:-1]):
        arguments = inspect.cleandoc(each.__doc__ or "").partition("\nArgs:\n")[2].split("\n\n")[0]
        described = re.findall(r"^ {4}([\w, ]+): (.*(?:\n {8}.*)*)", arguments, re.MULTILINE)
        for names, text in described:
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found
