"""Texts with markup, translated by a run."""

import pytest
from untrained import QUICK

from pipelines.glossary import Glossary
from pipelines.markup import Document
from pipelines.sentences import split_sentences
from t2t_keras.translating.engines.word_alignment import words_of
from t2t_keras.translating.markup.marked_translation import MarkedTranslator
from t2t_keras.translating.required_phrases import Requirements
from t2t_keras.translating.translator import Translation

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


def marked(texts, translations, glossary=None, prefixes=None, markup="html"):
    """Texts with markup, each of one sentence, whose translations are given."""

    def translate(divided, on_progress, **arguments):
        return [[Translation(each, 0.0, [])] for each in translations]

    translator = MarkedTranslator(
        translate,
        markup,
        lambda translation: [],
        lambda translation: ([], translation.text.split()),
    )
    requirements = Requirements(glossary=Glossary(glossary)) if glossary else None
    results = translator.translate(texts, requirements=requirements, prefixes=prefixes)
    return [best.text for best, *_ in results]


def test_words_with_percent_signs_are_kept_and_inventions_removed():
    text = "<p>a wholly pure solution, at a 50%-discount</p>"
    assert marked([text], ["eine 100%ige Lösung %s zu 50%"]) == [
        "<p>eine 100%ige Lösung  zu 50%</p>"
    ]


@pytest.mark.parametrize("target", ["hund@tier.de", "www.hund.de", "{Hund}", "100%ig", "%s", "{0}"])
def test_phrases_of_a_glossary_and_prefixes_are_kept_and_inventions_removed(target):
    text, written = "<b>The dog</b> sleeps.", f"Der {target} a@b.cc schläft."
    expected = f"Der {target}  schläft."
    for kept in ({"glossary": {"dog": target}}, {"prefixes": [f"Der {target}"]}):
        (output,) = marked([text], [written], **kept)
        assert output.replace("<b>", "").replace("</b>", "") == expected
    _, other = marked([text, "A cat."], [written, f"{target} %d"], {"dog": target})
    assert other == (f"{target} " if target == "100%ig" else " "), "it is no phrase of this text"


def test_phrases_of_a_glossary_are_escaped():
    glossary = {"dog": "A&B <b>"}
    assert marked(["<p>a dog</p>"], ["ein A&B <b>"], glossary) == ["<p>ein A&amp;B &lt;b&gt;</p>"]


def test_text_that_looks_like_a_placeholder_only_when_decoded_is_kept():
    text = "Write to me&#64;example.org, {the dog, a cat}."
    written = "Schreib an me@example.org, {Hund, Katze} %d."
    assert marked([text], [written]) == ["Schreib an me@example.org, {Hund, Katze} ."]


def test_a_text_that_the_model_leaves_as_it_is_keeps_its_bytes():
    texts = ["<b> M&uuml;ller &copy </b> & {x} , 3", "\t<i>x</i>  y "]
    pieces = [piece for text in texts for piece in Document("html").pieces_of(text)]
    copied = [piece.text for piece in pieces if not isinstance(piece, str)]
    assert "Müller ©" in copied[0]
    assert marked(texts, copied) == texts


def test_lines_of_a_document_are_translated_as_the_lines_before_them_demand(run):
    lines = ["<!--", f"{TEXTS[0]} -->", " ", f"{TEXTS[0]}<pre>", TEXTS[0]]
    (translated,) = run.translate(TEXTS[:1], **QUICK)
    document = Document("html")
    pieces = [document.pieces_of(line) for line in lines]
    outputs = run.translate(pieces, markup="html", split="auto", **QUICK)
    assert outputs == [*lines[:3], f"{translated}<pre>", TEXTS[0]]
    assert run.translate(TEXTS[:1], markup="html", **QUICK) == [translated]
