"""Translation through signatures, which a fake function answers."""

import pytest
from fake_signatures import CONFIG, NAMES, FakeSignatures, write_config
from untrained import toy_tokenizer

from pipelines.glossary import Glossary
from pipelines.sentences import split_sentences
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokens import TokenTokenizer
from pipelines.word_pieces import WordPieceTokenizer
from t2t_keras.translating.engines import signature_translator
from t2t_keras.translating.engines.signature_translator import SignatureTranslator
from t2t_keras.translating.required_phrases import Requirements
from t2t_keras.translating.text_error import TextError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the settings and the vocabulary of an export."""
    folder = tmp_path_factory.mktemp("signatures")
    toy_tokenizer(folder / "vocabulary")
    write_config(folder)
    return folder


def translator_of(folder, names=NAMES):
    fake = FakeSignatures(load_tokenizer(folder / "vocabulary"))
    return SignatureTranslator(fake, folder, names), fake.asked


@pytest.fixture
def translator(folder):
    return translator_of(folder)[0]


def best(results):
    return [each[0].text for each in results]


def requirements(translator, entries, required=None):
    return Requirements(required, Glossary(entries, translator.tokenizer.normalization))


def test_texts_without_wishes_take_the_exported_search_in_batches(folder, monkeypatch):
    monkeypatch.setattr(signature_translator, "BATCH", 2)
    translator, asked = translator_of(folder)
    counts = []
    results = translator.translate(["a b. C", "", "ä"], counts.append, split_sentences)
    assert best(results) == ["A B. C", "", "ä"], "bytes have no capital Ä"
    assert [name for name, _ in asked] == ["translate_n_best"] * 2 and counts == [2, 3]
    assert asked[0][1] == {"text": [b"a b. C", b""]}
    assert "tokenizer" not in vars(translator), "the vocabulary is not read"
    translator.translate(["a"], beam=4, n_best=1, alpha=CONFIG.alpha)
    assert asked[-1][0] == "translate_n_best", "as exported"


def test_missing_translations_are_left_out_and_parts_are_texts(translator):
    ((first, second, third),) = translator.translate(["a b."], n_best=3)
    assert first == ("A B.", -4.0, [("a b.", "A B.")]) and second.text == third.text == "other"
    assert len(translator.translate(["a"], beam=1)[0]) == 1
    assert len(translator.translate(["a"])[0]) == CONFIG.n_best


def test_a_changed_search_is_sent_with_each_sentence(folder):
    translator, asked = translator_of(folder)
    texts = ["The dog sleeps. The cat sleeps!\n\nOne", "Two"]
    results = translator.translate(texts, split=split_sentences, beam=3, n_best=2, alpha=0.25)
    assert best(results) == ["THE DOG SLEEPS. THE CAT SLEEPS!\n\nONE", "TWO"]
    ((name, inputs),) = asked
    assert name == "translate_with_options" and inputs["text"][-2:] == [b"One", b"Two"]
    assert (inputs["beam"], inputs["n_best"], inputs["alpha"]) == ([3] * 4, [2] * 4, [0.25] * 4)
    assert inputs["split"] == [False] * 4 and inputs["prefix"] == inputs["require"] == [b""] * 4


def test_the_first_sentence_has_the_prefix_and_the_others_are_plain(folder):
    translator, asked = translator_of(folder)
    texts = ["The dog sleeps. Yes!", "The cat sleeps."]
    results = translator.translate(texts, split=split_sentences, prefixes=["Der", ""])
    assert best(results) == ["Der THE DOG SLEEPS. YES!", "THE CAT SLEEPS."]
    assert {name: inputs["text"] for name, inputs in asked} == {
        "translate_n_best": [b"Yes!", b"The cat sleeps."],
        "translate_with_options": [b"The dog sleeps."],
    }
    nothing_first = translator.translate(
        ["x"], split=lambda text: (["\x01", "a"], [" "]), prefixes=["Der"]
    )
    assert best(nothing_first) == ["\x01 Der A"]


def test_sentences_have_the_phrases_of_a_glossary_and_texts_their_own(folder):
    translator, asked = translator_of(folder)
    wanted = requirements(
        translator, {"dog": "ein Hund", "cat": "Katze"}, [["Frau", "ein  Hund"], []]
    )
    texts = ["The dog sleeps. Yes!", "The cat sleeps. Yes!"]
    results = translator.translate(texts, split=split_sentences, requirements=wanted)
    assert best(results) == [
        "THE DOG SLEEPS. YES! Frau ein Hund ein Hund",
        "THE CAT SLEEPS. Katze YES!",
    ]
    (_, plain), (_, inputs) = asked
    assert plain["text"] == [b"Yes!"] and inputs["beam"] == [4, 4]
    assert inputs["require"][0].count(b"\t") == 2, "a phrase per tab, in normalized form"


def test_a_language_code_is_before_each_sentence_and_part(tmp_path):
    words = ["The", "dog", "cat", "sleeps", ".", "!"]
    save_tokenizer(TokenTokenizer([*SPECIAL_PIECES, ">>de<<", *words]), tmp_path / "vocabulary")
    write_config(tmp_path, positions="learned", max_length=8)
    translator, asked = translator_of(tmp_path)
    texts = [">>de<< The dog . The cat sleeps !", ">>fr<< The dog . The cat !", ">>de<<"]
    translator.translate(texts, split=split_sentences)
    (_, sent) = asked[-1]
    assert sent["text"] == [
        *(b">>de<< The dog .", b">>de<< The cat sleeps !"),
        *(b">>fr<< The dog .", b"The cat !"),
        b">>de<<",
    ]
    wanted = requirements(translator, {"dog": "dog", "de": "cat"})
    translator.translate([">>de<< " + "The dog " * 6], requirements=wanted)
    (_, sent) = asked[-1]
    assert all(text.startswith(b">>de<< The dog") for text in sent["text"])
    assert b"\t".join(sent["require"]) == b"\t".join([b"dog"] * 6)
    marked = translator.marked("html").translate([">>de<< <p>The <b>dog</b></p><p>The cat</p>"])
    sent = [inputs["text"] for name, inputs in asked if name == "translate_n_best"]
    assert sent[-1] == [b">>de<< The dog", b">>de<< The cat"]
    assert marked[0][0].text.count("<p>") == 2 and translator.words(marked[0][0])[0] == [
        *("The", "dog", "The", "cat"),
    ]


def test_a_sentence_that_is_too_long_is_divided_with_its_phrases(folder, tmp_path):
    (tmp_path / "vocabulary").symlink_to(folder / "vocabulary")
    write_config(tmp_path, positions="learned", max_length=6)
    translator, asked = translator_of(tmp_path)
    wanted = requirements(translator, {"dog": "Hund"})
    text = "The that the The that dog The that the"
    ((found, *_),) = translator.translate([text], requirements=wanted)
    assert found.text.replace(" Hund", "") == text.upper() and found.text.count("Hund") == 1
    sent = [inputs for name, inputs in asked if name == "translate_with_options"]
    assert [each["require"] for each in sent] == [[b"Hund"]] and b"dog" in sent[0]["text"][0]
    assert " ".join(source for source, _ in found.parts) == text and len(found.parts) > 1
    with pytest.raises(ValueError, match="but the model writes at most 6"):
        translator.translate(["dog"], requirements=Requirements([["der die das"] * 3]))


def test_a_sentence_with_many_glossary_phrases_is_divided_until_each_part_has_room(folder):
    translator, asked = translator_of(folder)
    text = "The dog, " * 200 + "sleeps"
    for required, more in ((None, 0), ([["das " * 100, "Frau"]], 101)):
        wanted = requirements(translator, {"dog": "Hund"}, required)
        ((found, *_),) = translator.translate([text], requirements=wanted)
        assert found.text.count("Hund") == 200 and found.text.count("das") == more - bool(more)
        assert found.text.replace(" Hund", "").startswith("THE DOG, THE DOG,")
    sent = [
        row for _, inputs in asked for row in zip(inputs["text"], inputs["require"], strict=True)
    ]
    assert all(len(phrases.split()) <= 256 for _, phrases in sent)
    assert all(source.startswith(b"The") for source, _ in sent), "cut after a comma"


def test_an_error_has_the_index_of_its_text(folder):
    translator, _ = translator_of(folder)
    wanted = requirements(translator, {}, [[], ["das"] * 300])
    with pytest.raises(TextError) as raised:
        translator.translate(["The", "The"], requirements=wanted)
    assert raised.value.index == 1


def test_phrases_that_cannot_be_written_are_refused_before_the_call(tmp_path):
    tokenizer = WordPieceTokenizer([*SPECIAL_PIECES, *(f"▁{word}" for word in ("The", "Hund"))])
    save_tokenizer(tokenizer, tmp_path / "vocabulary")
    write_config(tmp_path)
    translator, asked = translator_of(tmp_path)
    with pytest.raises(ValueError, match="the phrase '日本': the vocabulary can only write '⁇"):
        translator.translate(["The"], requirements=Requirements([["日本"]]))
    with pytest.raises(ValueError, match="the translation of an empty text is empty"):
        translator.translate([" "], requirements=Requirements([["Hund"]]))
    assert asked == []


def test_more_phrases_than_the_graph_takes_are_refused_before_the_call(folder):
    translator, asked = translator_of(folder)
    with pytest.raises(ValueError, match="have 300 pieces together, but an exported model takes"):
        translator.translate(["The"], requirements=Requirements([["das"] * 300]))
    assert asked == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 5}, "`beam` must be at most 4, the beam width of .* t2t-export --beam=5"),
        ({"beam": 0}, "`beam` must be"),
        ({"beam": 2, "n_best": 3}, "`n_best` must be at most the beam width, beam=2"),
        ({"alpha": float("nan")}, "`alpha` must be a finite number"),
        ({"beam": 2, "requirements": Requirements()}, "with the exported beam width, 4"),
    ],
)
def test_a_search_that_was_not_exported_is_refused(translator, options, message):
    with pytest.raises(ValueError, match=message):
        translator.translate(["a"], **options)


def test_earlier_exports_do_what_they_can(folder):
    names = [name for name in NAMES if name != "score_pieces"]
    translator, asked = translator_of(folder, names)
    assert best(translator.translate(["a"], prefixes=["Der"])) == ["Der A"]
    assert "require" not in asked[0][1]
    again = "an earlier version wrote it. Export the run again with t2t-export"
    with pytest.raises(ValueError, match=f"cannot search for phrases: {again}"):
        translator.translate(["a"], requirements=Requirements([["Hund"]]))
    with pytest.raises(ValueError, match=f"cannot rate words: {again}"):
        translator.confidence([])
    translator, _ = translator_of(folder, ["translate_n_best", "score", "attention"])
    assert best(translator.translate(["a"])) == ["A"]
    for call in (lambda: translator.translate(["a"], beam=1), lambda: translator.marked("html")):
        with pytest.raises(ValueError, match=again):
            call()
    with pytest.raises(ValueError, match="is not a SavedModel that takes text"):
        translator_of(folder, ["serving_default"])


def test_texts_with_markup_keep_it_with_all_wishes(folder):
    translator, asked = translator_of(folder)
    wanted = requirements(translator, {"dog": "Hund"})
    texts = ["<p>The <b>dog</b> sleeps.</p> <p>The {x} cat</p>", "a &amp; b"]
    results = translator.marked("html").translate(
        texts, split=split_sentences, prefixes=["Der", ""], requirements=wanted, n_best=1
    )
    (first,), (second,) = results
    assert first.text.startswith("<p>Der ") and first.text.count("Hund") == 1
    assert all(first.text.count(mark) == 1 for mark in ("<b>", "</b>", "{x}"))
    assert second.text == "A &amp; B" and "align" in {name for name, _ in asked}
    assert [source for source, _ in first.parts] == ["The dog sleeps.", "The  cat"]


def test_marks_of_a_long_sentence_keep_their_order(folder):
    translator, asked = translator_of(folder)
    text = "dog " * 300 + "<b>cat</b> dog"
    ((found, *_),) = translator.marked("html").translate([text])
    assert found.text == "DOG " * 300 + "<b>CAT</b> DOG"
    assert "align" not in {name for name, _ in asked}
