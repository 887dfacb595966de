"""Texts with markup, translated by an engine that writes capitals."""

import pytest
from support.models.fake_engine import FakeEngine, fake_translator

from pipelines.glossaries.glossary import Glossary
from pipelines.text.sentences import split_sentences
from t2t_keras.translating.markup.marked_translation import marked_text_of
from t2t_keras.translating.request import Request
from t2t_keras.translating.sentences import whole
from t2t_keras.translating.translator import Translation, Translator
from t2t_keras.translating.words import Words

FIRST, SECOND = "The dog sleeps.", "Two cats saw a big house!"


def best(texts, **options):
    return fake_translator().translate(texts, **options)


def test_a_text_without_markup_is_translated_as_without_the_argument():
    texts = [FIRST, f" {FIRST}  {SECOND}\n"]
    for markup in ("html", "xml", "placeholders"):
        plain, marked = (fake_translator().translations(texts, markup=m) for m in (None, markup))
        assert [[each.score for each in row] for row in plain] == [
            [each.score for each in row] for row in marked
        ]
        assert [each.text for each, *_ in plain] == [each.text.strip("\n ") for each, *_ in marked]


def test_segments_are_translated_apart_and_markup_is_kept():
    text = f"<p class='x'>{FIRST}</p>\n<!-- c --> <p>{SECOND} {FIRST}<br/></p>"
    assert best([text], markup="html") == [
        "<p class='x'>THE DOG SLEEPS.</p>\n<!-- c --> "
        "<p>TWO CATS SAW A BIG HOUSE! THE DOG SLEEPS.<br/></p>"
    ]
    unchanged = ["", "<br>", " {x} "]
    assert best(unchanged, markup="html") == unchanged


def test_marks_inside_sentences_go_where_the_alignment_says():
    text = f"The <b>dog {{name}}</b> sleeps. Two <i>cats</i> saw %s a <u>big house!</u> {FIRST}"
    assert best([text], markup="html") == [
        "THE <b>DOG {name}</b> SLEEPS. TWO <i>CATS</i> SAW %s A <u>BIG HOUSE!</u> THE DOG SLEEPS."
    ]
    (output,) = best([text], markup="html", prefix="Oh,")
    for mark in ("<b>", "</b>", "{name}", "<i>", "</i>", "%s", "<u>", "</u>"):
        assert output.count(mark) == 1
    assert output.index("</b>") < output.index("<i>"), "each in the translation of its sentence"


def test_only_texts_with_marks_inside_sentences_are_aligned():
    translator = fake_translator()
    translator.translate([f"<p>{FIRST}</p>", "&amp; a"], markup="html")
    assert [method for method, *_ in translator.engine.calls] == ["search"]
    translator.translate([f"<p>{FIRST}</p>", "a <b>c</b>"], markup="html")
    attended = [args for method, _, args in translator.engine.calls if method == "attention"]
    assert len(attended) == 1 and len(attended[0][0]) == 1


def test_the_words_of_a_translation_are_those_without_markup():
    options = {"markup": "html", "alignments": True, "confidence": True, "n_best": 2}
    (found,) = fake_translator().translations(["The <b>dog</b> &amp; {x} c. A cat."], **options)
    assert found[0].text == "THE <b>DOG</b> &amp; {x} C. A CAT."
    assert "<b>DOG</b>" in found[1].text
    words = found[0].words
    assert words.target == ["THE", "DOG", "&", "C.", "A", "CAT."]
    assert words.source == ["The", "dog", "&", "c.", "A", "cat."]
    assert len(found[0].confidence) == 6 and found[0].alignment == [(n, n) for n in range(6)]


def test_a_language_code_and_a_tag_apply_to_all_segments():
    text = f"<p>>>de<< {FIRST}</p> <p>{SECOND} <b>A</b> b.</p>"
    translator = Translator(FakeEngine(tags=("<2de>", "<2fr>")))
    plain = text.replace(">>de<< ", "")
    assert translator.translate([Request(text, markup="html", to="de")]) == [
        plain.upper().replace("P>", "p>").replace("B>", "b>")
    ]
    ((found,),) = translator.translations([Request(text, markup="html", to="fr")])
    assert [source[:2].tolist() for source, _ in found.parts] == [[8, 5]] * 3


def marked(text, translation, glossary=None, prefix="", markup="html"):
    """Returns the given translation of a text of one sentence with the text's markup."""
    found = marked_text_of(text, markup, whole)
    matches = Glossary(glossary or {}).matches_in(found.sentences[0])
    words = Words([], translation.split(), [])
    return found.marked([Translation(translation, 0.0, [], words)], [[prefix, *matches.targets()]])


@pytest.mark.parametrize("target", ["hund@tier.de", "{Hund}", "100%ig", "%s"])
def test_phrases_of_a_glossary_and_prefixes_are_kept_and_inventions_removed(target):
    text, written = "<b>The dog</b> sleeps.", f"Der {target} a@b.cc schläft."
    expected = f"Der {target}  schläft."
    for kept in ({"glossary": {"dog": target}}, {"prefix": f"Der {target}"}):
        assert marked(text, written, **kept).replace("<b>", "").replace("</b>", "") == expected
    other = marked("A cat.", f"{target} %d", {"dog": target})
    assert other == (f"{target} " if target == "100%ig" else " "), "it is no phrase of this text"


def test_phrases_of_a_glossary_are_escaped():
    glossary = {"dog": "A&B <b>"}
    assert marked("<p>a dog</p>", "ein A&B <b>", glossary) == "<p>ein A&amp;B &lt;b&gt;</p>"
    assert best(["<p>a dog</p>"], glossary=glossary, markup="html") == [
        "<p>A A&amp;B &lt;b&gt;</p>"
    ]


@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        (
            "<p>a wholly pure solution, at a 50%-discount</p>",
            "eine 100%ige Lösung %s zu 50%",
            "<p>eine 100%ige Lösung  zu 50%</p>",
        ),
        (  # it looks like placeholders only when it is decoded
            "Write to me&#64;example.org, {the dog, a cat}.",
            "Schreib an me@example.org, {Hund, Katze} %d.",
            "Schreib an me@example.org, {Hund, Katze} .",
        ),
    ],
)
def test_words_with_signs_are_kept_and_inventions_removed(text, written, expected):
    assert marked(text, written) == expected


@pytest.mark.parametrize("text", ["<b> M&uuml;ller &copy </b> & {x} , 3", "<p>A</p>  <p>B. C.</p>"])
def test_a_text_that_the_model_leaves_as_it_is_keeps_its_bytes(text):
    found = marked_text_of(text, "html", split_sentences)
    assert not any("&" in each.replace("& ", "") for each in found.sentences)
    copied = [Translation(each, 0.0, [], Words([], [], [])) for each in found.sentences]
    assert found.marked(copied, [[]] * len(copied)) == text
