"""Wishes of requests, fulfilled through signatures that a fake function answers."""

import re

import numpy as np
import pytest
from fake_signatures import CONFIG, NAMES, FakeSignatures, write_config
from untrained import toy_tokenizer

from pipelines.sentences import split_sentences
from pipelines.tokenizers import load_tokenizer
from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.translating.sentences import whole
from t2t_keras.translating.wishes import wishes_of

DEFAULTS = {
    "split": True,
    "prefix": b"",
    "require": b"",
    "beam": CONFIG.beam,
    "n_best": 1,
    "alpha": np.float32(CONFIG.alpha),
    "glossary": b"",
    "markup": b"",
    "alignments": False,
    "confidence": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wishes")
    toy_tokenizer(folder / "vocabulary")
    write_config(folder)
    return folder


@pytest.fixture(scope="module")
def wishes(folder):
    return wishes_of(folder, NAMES)


def divide(text, split):
    return (split_sentences if split else whole)(text)


def fulfilled(wishes, *rows, call=None):
    """Returns the outputs for texts, given as dicts of what differs from the defaults."""
    rows = [DEFAULTS | row for row in rows]
    inputs = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        inputs[name] = np.array(values, object if isinstance(values[0], bytes) else None)
    call = call or FakeSignatures(wishes.translator.tokenizer)
    outputs = wishes(inputs, call, divide)
    return {
        name: np.vectorize(lambda x: x.decode(), otypes=[object])(array).tolist()
        if array.dtype == object
        else array.tolist()
        for name, array in outputs.items()
    }


def test_exports_of_earlier_versions_fulfil_no_wishes(folder):
    assert wishes_of(folder, [name for name in NAMES if name != "score_pieces"]) is None
    assert wishes_of(folder.parent / "missing", ["serving_default"]) is None


def test_each_text_has_its_own_wishes(wishes):
    glossary = b"dog\tHund\n# comment\ncat\tKatze"
    outputs = fulfilled(
        wishes,
        {"text": b"A dog. A cat.", "glossary": glossary},
        {"text": b"A dog. A cat.", "glossary": glossary, "split": False},
        {"text": b"A dog."},
        {"text": b"A dog.", "require": b"Hund\t\tKatze", "prefix": b"Der"},
        {"text": b"<b>dog</b> &amp; cat", "markup": b"html"},
        {"text": b"", "markup": b"xml"},
    )
    best = [row[0] for row in outputs["translations"]]
    assert best == [
        "A DOG. Hund A CAT. Katze",
        "A DOG. A CAT. Hund Katze",
        "A DOG.",
        "Der A DOG. Hund Katze",
        "<b>DOG</b> &amp; CAT",
        "",
    ]
    assert outputs.keys() == {"translations", "scores"}
    assert np.shape(outputs["scores"]) == (6, CONFIG.beam)


def test_a_glossary_is_read_once(wishes):
    rows = [{"text": b"A dog.", "glossary": b"A\tB"}] * 2
    before = wishes.glossary.cache_info().misses
    fulfilled(wishes, *rows)
    fulfilled(wishes, *rows)
    assert wishes.glossary.cache_info().misses == before + 1


def test_words_their_alignments_and_their_confidence_are_counted_through_the_text(wishes):
    text = {"text": b"A dog. Two cats.", "n_best": 2}
    outputs = fulfilled(
        wishes, {**text, "alignments": True}, {**text, "confidence": True}, {**text}
    )
    assert outputs["source_words"] == ["A dog. Two cats."] * 2 + [""]
    assert outputs["words"][0][:2] == outputs["words"][1][:2]
    assert outputs["words"][0][0] == "A DOG. TWO CATS." and not any(outputs["words"][2])
    assert not any(outputs["alignments"][1]) and not any(outputs["confidence"][0])
    assert outputs["alignments"][0][0] == "0-0 1-1 2-2 3-3"
    rated = [float(each) for each in outputs["confidence"][1][0].split()]
    assert len(rated) == 4 and rated[0] > rated[1] and max(rated) <= 1
    assert outputs["alignments"][0][2:] == ["", ""], "there are no more translations"


def test_alpha_as_exported_needs_no_other_search(wishes):
    fake = FakeSignatures(wishes.translator.tokenizer)
    fulfilled(wishes, {"text": b"A", "alignments": True}, call=fake)
    assert [name for name, _ in fake.asked] == ["translate_n_best", "align"]
    fulfilled(wishes, {"text": b"A", "confidence": True, "alpha": np.float32(0.1)}, call=fake)
    assert [name for name, _ in fake.asked[2:]] == ["translate_with_options", "score_pieces"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"glossary": b"dog Hund"}, "`glossary`, line 1: must be a source phrase, a tab and"),
        ({"glossary": b"a\tb\na\tc"}, "`glossary`, line 2: 'a' has two translations, 'b' and 'c'"),
        ({"markup": b"pdf"}, "`markup` must be one of 'html', 'xml', 'placeholders'"),
        ({"markup": b"xml", "require": b"Hund"}, "Leave out either the phrases or the markup"),
        ({"require": b"Hund", "beam": 2}, "with the exported beam width, 4. Received: beam=2"),
        ({"require": b"", "text": b"a " * 300, "alignments": True}, "fewer than 256 pieces"),
    ],
)
def test_wishes_that_cannot_be_fulfilled_are_refused(wishes, row, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fulfilled(wishes, {"text": b"A dog.", **row})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"glossary": b"dog\tHund\ncat Katze"}, "`glossary`, line 2: must be a source phrase"),
        ({"require": b"das " * 300}, "have 300 pieces together"),
        ({"markup": b"pdf"}, "`markup` must be one of"),
        ({"markup": b"xml", "require": b"Hund"}, "no required phrases of their own"),
        ({"text": b"a " * 300, "alignments": True}, "aligns the words of sentences of fewer"),
        ({"text": b"a " * 300, "confidence": True}, "rates the words of sentences of fewer"),
    ],
)
def test_mistakes_name_their_row(wishes, row, message):
    others = {"confidence": True}, {"alpha": np.float32(0.1), "alignments": True}
    neighbour = {"markup": row["markup"]} if "require" in row and "markup" in row else {}
    rows = [{"text": b"A dog.", **each} for each in (*others, neighbour, row)]
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        fulfilled(wishes, *rows)
    assert str(error.value).startswith("Row 3: ")


def test_a_text_without_translations_is_answered(wishes, monkeypatch):
    none = {"translations": np.full((1, 2), b"", object), "scores": np.full((1, 2), NO_SCORE)}
    monkeypatch.setattr(FakeSignatures, "translate_n_best", lambda self, text: none)
    outputs = fulfilled(wishes, {"text": b"A dog.", "alignments": True, "confidence": True})
    for name in ("translations", "alignments", "confidence", "words"):
        assert outputs[name] == [[""] * CONFIG.beam]
    np.testing.assert_array_equal(outputs["scores"], [[np.float32(NO_SCORE)] * CONFIG.beam])


def test_the_vocabulary_is_kept_when_the_folder_is_removed(folder, tmp_path):
    copied = tmp_path / "1"
    toy_tokenizer(copied / "vocabulary")
    write_config(copied)
    wishes = wishes_of(copied, NAMES)
    (copied / "config.json").unlink()
    for path in (copied / "vocabulary").iterdir():
        path.unlink()
    outputs = fulfilled(wishes, {"text": b"A dog.", "require": b"Hund", "confidence": True})
    assert outputs["translations"][0][0] == "A DOG. Hund"
    assert load_tokenizer(folder / "vocabulary").size == wishes.translator.tokenizer.size
