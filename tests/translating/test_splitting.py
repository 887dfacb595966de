"""Texts of several sentences, translated by a run."""

import pytest
from untrained import QUICK

SENTENCES = ["The dog sleeps.", "Two cats saw a big house!"]


def test_a_text_becomes_the_translations_of_its_sentences_with_its_line_breaks(run):
    first, second = run.translate(SENTENCES, **QUICK)
    assert first and second
    text = f"  {SENTENCES[0]}\r\n\r\n {SENTENCES[1]}  {SENTENCES[0]}\n"
    assert run.translate([text], split="auto", **QUICK) == [f"{first}\r\n\r\n {second}  {first}"]
    assert "\n" not in run.translate([text], **QUICK)[0], "by default, a text is a sentence"


def test_a_text_of_one_sentence_is_translated_as_without_splitting(run):
    texts = ["", " ", "\n", f" {SENTENCES[0]} \n", "mr. dog sleeps", "a cat, e.g. this one"]
    assert run.translate(texts, split="auto", **QUICK) == run.translate(texts, **QUICK)


def test_a_misspelled_choice_is_named(run):
    with pytest.raises(ValueError, match=r"`split` must be one of 'auto', 'off' .*'atuo'"):
        run.translate(SENTENCES, split="atuo", **QUICK)
