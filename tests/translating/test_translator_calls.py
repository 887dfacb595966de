"""What a translator asks its engine: rows that share calls, whoever drives it."""

from support.models.fake_engine import FakeEngine, fake_translator

from t2t_keras.translating.request import Request
from t2t_keras.translating.translator import Translator

TEXT = "A dog. Two cats."


ASKING = [
    Request(TEXT),
    Request(TEXT, beam=3, n_best=3),
    Request(TEXT, alpha=2.0, n_best=4),
    Request(TEXT, glossary={"dog": "Hund"}, beam=2),
    Request(TEXT, glossary={"dog": "Vogel", "cats": "Tiere"}),
    Request(TEXT, require=["Hund"], prefix="Ein"),
    Request(f"<p>A <b>dog</b>.</p> &amp; {TEXT}", markup="html", prefix="Ein"),
    Request("<p>A dog.</p> &amp; B", markup="html", confidence=True),
    Request("A %s {dog}. <b>", markup="placeholders", n_best=2),
    Request(TEXT, to="fr", split="off"),
    Request(TEXT, alignments=True, n_best=2, banned=["A"]),
    Request(TEXT, confidence=True, alignments=True, glossary={"dog": "Hund"}),
    Request(TEXT, method="sample", seed=3, n_best=2),
    Request(">>de<< A dog. Two cats.", to="de", split="auto", confidence=True),
    Request(""),
    Request("∅ A dog", split="off", alignments=True),
]


def test_texts_that_ask_for_different_things_come_out_as_they_do_alone():
    def translate(requests, first_index=0):
        engine = FakeEngine(tags=("<2de>", "<2fr>"), longest=40, batch_tokens=128)
        return Translator(engine, to="de").translations(requests, first_index=first_index)

    alone = [translate([each], index)[0] for index, each in enumerate(ASKING)]
    assert comparable(translate(ASKING)) == comparable(alone)
    best = [row[0].text if row else None for row in alone]
    assert len({*best}) > 8, "what they ask for has an effect"


def comparable(results):
    return [
        [(each.text, each.score, each.words, each.confidence, repr(each.parts)) for each in of_text]
        for of_text in results
    ]


def test_rows_with_phrases_prefixes_or_options_form_calls_of_their_own_after_the_default_ones():
    translator = fake_translator()
    requests = [
        *(Request("c", require=["k"]), Request("p", prefix="x"), Request("o", alpha=0.1)),
        *(Request("d"), Request("e", n_best=1), Request("b", beam=2)),
        Request("m", prefix="x", beam=2),
    ]
    translator.translations(requests)
    found = [
        (
            "".join(sorted(sources(rows))),
            *(rows.prefix is not None, rows.phrases is not None, config.beam, config.alpha),
        )
        for _, config, rows in translator.engine.calls
    ]
    assert found == [
        ("de", False, False, 4, 0.6),
        ("p", True, False, 4, 0.6),
        ("o", False, False, 4, 0.1),
        ("b", False, False, 2, 0.6),
        ("m", True, False, 2, 0.6),
        ("c", False, True, 4, 0.6),
    ]


def sources(rows):
    return ["".join(chr(id) for id in row if id > 32) for row in rows.source]


def test_every_sentence_is_encoded_once_by_one_call_and_the_target_only_prefixes_and_phrases():
    translator = fake_translator(longest=24)
    tokenizer = translator.engine.tokenizer
    texts = [TEXT, "<p>A <b>dog</b> and <i>two</i> cats.</p>", "Many words follow. " * 3]
    asked = {"alignments": True, "confidence": True, "markup": "html", "n_best": 2}
    translator.translations(texts, glossary={"dog": "Hund", "Many": "Viele"}, **asked)
    (encoded,) = tokenizer.source.encoded
    assert encoded == [*("A dog.", "Two cats.", "A dog and two cats."), *["Many words follow."] * 3]
    assert {text for call in tokenizer.target.encoded for text in call} == {"Hund", "Viele"}
    tokenizer.target.encoded.clear()
    translator.translations(texts, prefixes=["x", "", "y"], **asked)
    assert tokenizer.target.encoded == [["x", "", "y"]]
    tokenizer.target.encoded.clear()
    translator.translations(texts, **asked)
    assert not tokenizer.target.encoded and len(tokenizer.source.encoded) == 3
