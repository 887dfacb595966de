"""A run and its exports in three formats translate a text equally."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from support.text.generated_markup import Generated

from pipelines.markup.marked_text import Document
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.alignment import AlignmentHead
from t2t_keras.runs import Run
from t2t_keras.translating.find import load_translator
from t2t_keras.translating.request import Request

pytestmark = pytest.mark.long

SOURCES = [english for english, _ in pairs(8)]
CHOICES = {
    "default head": None,
    "shifted head": AlignmentHead(0, 1, shifted=True),
}
ASKING = [
    *SOURCES,
    *(Request(text, prefix="Der Hund", n_best=2) for text in SOURCES[:3]),
    Request(SOURCES[0], prefix="das " * 40),  # longer than the limit
    Request(SOURCES[1], beam=1),
    Request(SOURCES[2], alpha=0.1, n_best=3, prefix="ein"),
    Request(" ".join(SOURCES[:3]), prefix="Die"),
    Request(f"<p>{SOURCES[3]} <b>dog</b></p> {{x}} {SOURCES[4]}", markup="html"),
    Request("", confidence=True),
]


def chosen(run, choice, tmp_path):
    """Returns a copy of the run with a choice of the head that aligns words."""
    folder = shutil.copytree(run.folder, tmp_path / "run")
    if choice is not None:
        head = {"head": dataclasses.asdict(choice)}
        (folder / "alignment.json").write_text(json.dumps(head))
    return Run(folder)


def asking(requests):
    requests = [each if isinstance(each, Request) else Request(each) for each in requests]
    return [dataclasses.replace(each, alignments=True, confidence=True) for each in requests]


def check_equal(found, expected, atol):
    for name in ("text", "words"):
        ours, theirs = (
            [[getattr(e, name) for e in row] for row in rows] for rows in (found, expected)
        )
        assert ours == theirs
    for ours, theirs in zip(found, expected, strict=True):
        for each, other in zip(ours, theirs, strict=True):
            assert each.score == pytest.approx(other.score, rel=atol, abs=atol)
            np.testing.assert_allclose(each.confidence, other.confidence, atol=atol)


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("engine", ["ctranslate2", "litert"])
def test_other_engines_translate_align_and_rate_as_the_run(sharp_run, tmp_path, choice, engine):
    run = chosen(sharp_run, choice, tmp_path)
    folder = run.export(tmp_path / engine, engine, extra_length=9)
    expected = run.translator(extra_length=9).translations(asking(ASKING))
    found = load_translator(folder).translations(asking(ASKING))
    check_equal(found, expected, 1e-3)
    assert any(len(best.words.pairs) > 3 for best, *_ in expected)


def test_a_savedmodel_translates_aligns_and_rates_as_the_run(sharp_run, tmp_path):
    run = chosen(sharp_run, CHOICES["shifted head"], tmp_path)
    folder = run.export(tmp_path / "export", extra_length=9)
    glossary = {"dog": "guter Hund", "cat": "Katze"}
    requests = [
        *ASKING,
        *(Request(text, glossary=glossary, prefix="Ein", n_best=2) for text in SOURCES[:3]),
        Request(SOURCES[0], require=["das Haus", "Katze"], alpha=0.1),
        *documents(3),
    ]
    expected = run.translator(extra_length=9).translations(asking(requests))
    check_equal(load_translator(folder).translations(asking(requests)), expected, 2e-5)


def documents(count):
    """Returns requests for the lines of random documents with glossaries and prefixes."""
    requests = []
    for seed in range(count):
        document = Document("html")
        for index, line in enumerate(Generated(seed, "html").text.split("\n")):
            prefix = "Das" if index % 3 == 0 else ""
            glossary = {"dog": "guter Hund", "cats": "100%ig"}
            pieces = document.pieces_of(line)
            requests.append(Request(pieces, markup="html", prefix=prefix, glossary=glossary))
    return requests
