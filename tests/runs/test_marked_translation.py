"""Texts with markup, translated by a run."""

import pytest
from untrained import QUICK

from pipelines.sentences import split_sentences
from t2t_keras.runs.word_alignment import words_of

TEXTS = ["The dog sleeps.", "Two cats saw a big house!", " a  b ", "", " "]


def test_a_text_without_markup_is_translated_as_without_the_argument(run):
    plain = run.translate(TEXTS[:2], split="auto", **QUICK)
    for markup in ("html", "xml", "placeholders"):
        assert run.translate(TEXTS[:2], split="auto", markup=markup, **QUICK) == plain


def test_segments_are_translated_apart_and_markup_is_kept(run):
    first, second = run.translate(TEXTS[:2], **QUICK)
    text = f"<p class='x'>{TEXTS[0]}</p>\n<!-- c --> <p>{TEXTS[1]} {TEXTS[0]}<br/></p>"
    expected = f"<p class='x'>{first}</p>\n<!-- c --> <p>{second} {first}<br/></p>"
    assert run.translate([text], markup="html", split="auto", **QUICK) == [expected]
    assert run.translate(["", "<br>", " {x} "], markup="html", **QUICK) == ["", "<br>", " {x} "]


def test_each_mark_inside_sentences_is_written_once(run):
    text = f"The <b>dog {{name}}</b> sleeps. Two <i>cats</i> saw %s a <u>big house!</u> {TEXTS[0]}"
    (output,) = run.translate([text], markup="html", split="auto", **QUICK)
    for mark in ("<b>", "</b>", "{name}", "<i>", "</i>", "%s", "<u>", "</u>"):
        assert output.count(mark) == 1
    assert output.index("</b>") < output.index("<i>"), "each in the translation of its sentence"


def test_the_words_are_those_that_the_alignment_counts(run):
    translator, align = run.translator(**QUICK), run.aligner()
    texts = [*TEXTS, f"{TEXTS[0]} {TEXTS[1]}", "x" * 50]
    for translation, *_ in translator.translate(texts, split=split_sentences):
        source, target = words_of(run.tokenizer(), translation)
        assert "".join(target) == "".join(translation.text.split())
        pairs = align(translation)
        assert {j for _, j in pairs} == set(range(len(target)))
        assert all(i < len(source) for i, _ in pairs)


def test_a_misspelled_markup_is_named(run):
    with pytest.raises(ValueError, match=r"`markup` must be one of .*did you mean 'html'"):
        run.translate(["a"], markup="htm", **QUICK)
