"""Texts and what they ask for, translated by an engine that writes capitals."""

import dataclasses

import numpy as np
import pytest
from support.models.fake_engine import FakeEngine, fake_translator, searches, tokens_of

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.translating.request import Request, TextError
from t2t_keras.translating.translator import Translator

TEXT = "A dog. Two cats."


def texts_of(results):
    return [[each.text for each in row] for row in results]


def sources_of(results):
    """Returns the text of the source of each part of the best translations."""
    parts = [part for best, *_ in results for part in best.parts]
    return ["".join(chr(id) for id in source if id > 8).strip() for source, _ in parts]


@pytest.mark.parametrize("text", [TEXT, Request("A dog.", n_best=2), ""])
def test_a_single_text_is_one_text(text):
    translator = fake_translator()
    assert translator.translate(text) == translator.translate([text])[0]
    assert texts_of([translator.translations(text)]) == texts_of(translator.translations([text]))


def test_translations_come_back_in_the_order_of_the_texts():
    texts = [" ".join(["word"] * (7 * n % 30)) + f" {n}" for n in range(50)]
    translator, progress = fake_translator(batch_tokens=256, n_best=2), []
    results = translator.translations(texts, progress.append)
    expected = [[" ".join(each.upper().split()[::order]) for order in (1, -1)] for each in texts]
    assert texts_of(results) == expected
    assert progress == sorted(progress) and progress[-1] == 50
    shapes = [rows.source.shape for rows in searches(translator)]
    assert all(rows == 1 or rows * width <= 256 for rows, width in shapes)
    widths = [width for _, width in shapes]
    assert widths == sorted(widths, reverse=True), "longest first"
    assert all(width % 8 == 0 for width in widths), "few widths are compiled"


def test_the_translation_of_an_empty_text_is_empty():
    translator = fake_translator()
    assert translator.translate([]) == []
    assert translator.translate(["", "A", " "]) == ["", "A", ""]
    for markup in ("html", "placeholders"):
        results = translator.translations(
            ["", "A", " "], markup=markup, alignments=True, confidence=True, split="off"
        )
        assert [best.text for best, *_ in results] == ["", "A", ""]
        assert all(best.confidence == best.alignment == [] for best, *_ in results[::2])


def test_a_text_that_is_too_long_is_translated_in_parts():
    texts = ["short", "many words " * 40, "w" * 100, ""]
    translator = fake_translator(longest=32, batch_tokens=16, alpha=0.0)
    results = translator.translations(texts)
    assert {len(rows.source) for rows in searches(translator)} == {1}, "longer than a batch"
    assert max(rows.source.shape[1] for rows in searches(translator)) == 32
    found = [best.text for best, *_ in results]
    assert found[::3] == ["SHORT", ""]
    assert found[1].split() == texts[1].upper().split(), "cut between words only"
    assert found[2].replace(" ", "") == texts[2].upper(), "cut anywhere if there is one word"
    assert results[1][0].score == -len(results[1][0].parts) < -1


def test_a_text_or_part_for_which_the_search_finds_nothing_is_empty():
    translator = fake_translator(longest=4)
    assert translator.translate(["∅", "ab", "ab ∅∅ de"]) == ["", "AB", "AB DE"]
    ((best,),) = translator.translations(["∅"], alignments=True, confidence=True, markup="html")
    assert (best.text, best.alignment, best.confidence) == ("", [], [])


def test_each_text_has_its_own_prefix_and_index():
    translator = fake_translator()
    texts, prefixes = ["aaaa", "b", "cc"], ["A", "", "CC x"]
    found = translator.translate(texts, prefixes=prefixes, split="off", first_index=10)
    assert found == ["A AAAA", "B", "CC x CC"]
    plain, begun = searches(translator)
    prefixes = {index: tokens_of(row) for index, row in zip(begun.index, begun.prefix, strict=True)}
    assert prefixes == {10: [*map(ord, " A")], 12: [*map(ord, " CC x")]}
    assert plain.prefix is None and plain.index.tolist() == [11]


def test_the_index_of_a_text_selects_its_sample():
    translator = fake_translator(method="sample")
    text = "one two three"
    together = translator.translate([text] * 4)
    assert len({*together}) == 4
    later = translator.translations([text] * 2, first_index=2)
    assert [best.text for best, *_ in later] == together[2:]
    assert translator.translate([text] * 3, seed=1) == together[1:]


def test_sentences_are_translated_by_themselves_and_joined_by_their_separators():
    translator = fake_translator(alpha=0.0, longest=32)
    texts = ["  The dog sleeps.\r\n\r\n Two cats saw it!  A bird?\n", "One sentence", ""]
    results = translator.translations(texts, n_best=2, prefixes=["p"] * 3, first_index=7)
    assert [best.text for best, *_ in results] == [
        "p THE DOG SLEEPS.\r\n\r\n TWO CATS SAW IT!  A BIRD?",
        "p ONE SENTENCE",
        "",
    ]
    best, second = results[0]
    assert second.text == "p SLEEPS. DOG THE\r\n\r\n IT! SAW CATS TWO  BIRD? A"
    assert (best.score, second.score) == (-3, -6)
    assert sources_of([[best]]) == ["The dog sleeps.", "Two cats saw it!", "A bird?"]
    indices = [index for rows in searches(translator) for index in rows.index]
    assert indices.count(7) == 3, "the sentences of a text share its random numbers"
    begun = [row for rows in searches(translator) if rows.prefix is not None for row in rows.source]
    assert len(begun) == 2, "only the first sentence of a text has the prefix"


def test_without_splitting_a_text_is_a_sentence_on_one_line():
    translator, text = fake_translator(), f"{TEXT}\nMore"
    assert translator.translate([text], split="off") == ["A DOG. TWO CATS. MORE"]
    translator.engine.split = "off"
    assert translator.translate([text]) == ["A DOG. TWO CATS. MORE"]
    assert translator.translate([text], split="auto") == ["A DOG. TWO CATS.\nMORE"]


class Replacing(FakeEngine):
    """Writes one letter instead of another."""

    def __init__(self, letter, other):
        super().__init__()
        self.letter, self.other = letter, other

    def search(self, rows):
        tokens, scores = super().search(rows)
        return Hypotheses(np.where(tokens == ord(self.letter), ord(self.other), tokens), scores)


def test_a_space_follows_a_sentence_whose_source_had_none_after_it():
    assert fake_translator().translate(["ア。イ。"]) == ["ア。イ。"]
    assert Translator(Replacing("。", ".")).translate(["ア。イ。"]) == ["ア. イ."]


def test_line_breaks_in_translations_become_spaces():
    translator = Translator(Replacing("X", "\n"))
    for markup in (None, "html"):
        assert translator.translate(["axb. Cxd.", "axb"], markup=markup) == ["A B. C D.", "A B"]


def test_a_language_code_begins_each_sentence_and_part_until_the_next_code():
    translator = fake_translator(longest=16)
    text = ">>de<< A dog. Two cats. >>fr<< A bird with a long tail."
    (best, *_), _, (lone, *_) = translator.translations([text, "A dog. >>de<< B.", ">>de<<"])
    codes = [int(source[0]) for source, _ in best.parts]
    assert codes == [5] * 2 + [6] * (len(codes) - 2) and len(codes) > 3
    assert sources_of([[best]])[:2] == ["A dog.", "Two cats."]
    assert best.text == "A DOG. TWO CATS. A BIRD WITH A LONG TAIL."
    assert lone.text == "", "a code alone is no text"


def test_a_tag_is_put_before_each_sentence_of_the_texts_that_ask_for_it():
    engine = FakeEngine(tags=("<2de>", "<2fr>"), longest=16)
    translator = Translator(engine, to="de")
    results = translator.translations([TEXT, Request(TEXT, to="fr"), Request("w" * 40, to="<2fr>")])
    assert [best.text for best, *_ in results[:2]] == ["A DOG. TWO CATS.", "DOG. A CATS. TWO"]
    tags = [{int(source[0]) for source, _ in best.parts} for best, *_ in results]
    assert tags == [{7}, {8}, {8}] and len(results[2][0].parts) > 1
    engine.tokenizer.source.encoded.clear()
    translator.translations([Request(f"{to} {n}", to=to) for n in range(3) for to in ("de", "fr")])
    assert engine.tokenizer.source.encoded == [
        [f"{to} {n}" for n in range(3)] for to in ("de", "fr")
    ]
    with pytest.raises(TextError, match=r"no tag 'es'. It has de, fr") as error:
        translator.translations([TEXT, Request(TEXT, to="es")])
    assert error.value.index == 1
    with pytest.raises(ValueError, match=r"several tags: choose --to=de or --to=fr"):
        Translator(engine).translations([TEXT])


def test_required_phrases_make_a_text_one_sentence_and_glossaries_do_not():
    translator, glossary = fake_translator(), {"dog": "Hund", "cats": "Katzen"}
    found = translator.translate([TEXT, TEXT], glossary=glossary, require=[[], ["Vogel", "Hund"]])
    assert found[0] == "A Hund. TWO Katzen."
    assert found[1] == "A Hund. TWO Katzen. Vogel", "Hund once"


def test_words_are_counted_through_the_sentences_and_parts_of_a_text():
    (best, *_), (plain, *_) = fake_translator(longest=10).translations(
        [Request(TEXT, alignments=True, confidence=True), TEXT]
    )
    assert len(best.parts) > 2, "cut in parts"
    assert best.words.source == ["A", "dog.", "Two", "cats."]
    assert best.words.target == ["A", "DOG.", "TWO", "CATS."]
    assert best.alignment == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert len(best.confidence) == 4 and best.confidence[0] > best.confidence[1]
    assert plain.words is plain.confidence is None


def test_an_output_that_was_cut_off_keeps_its_last_word():
    ((best,),) = fake_translator(extra_length=0).translations(
        ["A dog"], prefixes=["The"], alignments=True, confidence=True
    )
    assert best.text == "The A" and best.parts[0][1][-1] != 2
    assert best.words.target == ["The", "A"] and len(best.confidence) == 2
    assert [j for _, j in best.alignment] == [0, 1]


def test_only_a_part_that_is_too_long_is_not_aligned():
    translator = Translator(FakeEngine(), longest_aligned=40)
    long = " ".join(["dog"] * 30)
    for name, does in (("alignments", "aligns the words"), ("confidence", "rates the words")):
        with pytest.raises(TextError, match=f"a server {does} of sentences of fewer than 40") as e:
            translator.translations(["a", Request(long, **{name: True})])
        assert e.value.index == 1
    text = f"<b>{long}</b> a <i>c</i>"
    (found,) = translator.translate([text], markup="html")
    assert found == text.replace("dog", "DOG").replace("a ", "A ").replace("c<", "C<")
    assert not [method for method, *_ in translator.engine.calls if method == "attention"]


def test_an_error_names_the_text_that_it_is_about():
    translator = fake_translator(longest=40)
    for request, message in [
        (Request("a", n_best=5), r"`n_best` must be at most the beam width"),
        (Request("a", banned=["xy"]), r"--banned=xy: the vocabulary has no such piece"),
        (Request("", require=["Hund"]), r"translation of an empty text is empty"),
        (Request("a", require=["das " * 20]), r"have \d+ pieces together"),
        (Request("a", require=["Hund"], method="sample"), r"not from samples"),
        (Request("a", glossary="/missing/glossary"), r"/missing/glossary"),
    ]:
        with pytest.raises((TextError, OSError), match=message) as error:
            translator.translations(["fine", request, "fine"])
        assert getattr(error.value, "index", 1) == 1
    assert not translator.engine.calls, "before anything is computed"


def test_options_are_checked_before_there_are_texts():
    translator = fake_translator()
    assert translator.check({"beam": 2, "alpha": 0.1}) == dataclasses.replace(
        translator.engine.config, beam=2, alpha=0.1
    )
    assert translator.check({}, require=[["Hund"]], prefixes=["x"]) == translator.engine.config
    for options, message in (({"beam": 0}, "`beam` must be"), ({"to": "de"}, "has no tag 'de'")):
        with pytest.raises(ValueError, match=message):
            translator.check(options)
    for own in ({"prefixes": ["x"]}, {"require": [["x"]]}):
        with pytest.raises(ValueError, match="takes neither prefixes nor required phrases"):
            translator.check({"constrain": "tree"}, **own)
    assert not translator.engine.calls


def test_a_model_without_attention_can_neither_align_nor_keep_markup():
    class Inattentive(FakeEngine):
        has_attention = False

    translator = Translator(Inattentive())
    for options in ({"alignments": True}, {"markup": "html"}):
        with pytest.raises(ValueError, match="no attention"):
            translator.check(options)
    assert translator.translate(["A"], confidence=True) == ["A"]
    assert translator.translate(["<p>a</p>"], markup="html") == ["<p>A</p>"], (
        "no mark depends on words"
    )
    with pytest.raises(ValueError, match="no attention"):
        translator.translate(["a <b>c</b> d"], markup="html")
