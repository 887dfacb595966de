"""Requests' arrays become `Request`s of the translator, and its translations become arrays."""

import numpy as np
import pytest
from support.serving.served_engine import TAGS, EchoEngine, predictions

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.signature_names import NO_SCORE, OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.translations import Translations, glossary_memory, refusing
from t2t_keras.translating.request import TextError
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words

TEXT = "The dog sleeps. The cat sleeps!"
DEFAULTS = {
    "alignments": False,
    "alpha": 0.6,
    "beam": 4,
    "confidence": False,
    "glossary": "",
    "markup": "",
    "n_best": 1,
    "prefix": "",
    "require": "",
    "split": True,
}


def defaults(engine):
    return Translations(engine).metadata[OPTIONS]["defaults"]


class Lacking(EchoEngine):
    """An engine that can search for no phrases and align no words."""

    offers = ("beam",)

    def check(self, config, prefix, phrases):
        if phrases:
            raise ValueError("no phrases")

    def check_attention(self):
        raise ValueError("no attention")


def test_metadata_has_the_options_that_the_engine_has_and_their_defaults():
    assert defaults(EchoEngine()) == DEFAULTS
    assert defaults(EchoEngine(split="off"))["split"] is False
    assert defaults(EchoEngine(tags=[TAGS[0], None])) == DEFAULTS | {"to": ""}
    signature = Translations(EchoEngine()).metadata[OPTIONS]
    types = {str: "DT_STRING", bool: "DT_BOOL", int: "DT_INT32", float: "DT_FLOAT"}
    assert {name: each["dtype"] for name, each in signature["inputs"].items()} == {
        name: types[type(value)] for name, value in {"text": "", **DEFAULTS}.items()
    }
    words = {"alignments", "confidence", "source_words", "words"}
    assert signature["outputs"].keys() == {"translations", "scores"} | words


def test_an_option_that_the_engine_lacks_is_no_input():
    assert defaults(Lacking()).keys() == {"beam", "confidence", "prefix", "split"}
    with pytest.raises(Refusal, match="unknown input 'require'"):
        predictions({"text": "a", "require": "x"}, engine=Lacking())
    tree = EchoEngine(config=SearchConfig(constrain="tree"), split="off")
    assert not defaults(tree).keys() & {"prefix", "require", "glossary"}


def test_n_best_lists_have_a_fixed_width():
    texts, scores = ["a", "a!", "a!!", "a!!!"], [-0.6, -1.2, -1.8, -2.4]
    (best,) = predictions("a", signature="serving_default")
    assert best == {"translations": "a", "scores": -0.6}
    (several,) = predictions("a", signature="translate_n_best")
    assert several == {"translations": texts, "scores": pytest.approx(scores)}
    (two,) = predictions({"text": "a", "n_best": 2})
    missing = pytest.approx(NO_SCORE)
    assert two == {"translations": ["a", "a!", "", ""], "scores": [-0.6, -1.2, missing, missing]}


def test_each_row_has_its_own_options():
    answers = predictions(
        {"text": TEXT, "prefix": "Heute", "n_best": 2},
        {"text": TEXT, "alpha": 1.25, "beam": 2, "n_best": 2},
        {"text": TEXT, "split": False},
        {"text": TEXT, "glossary": "dog\tder Hund\ncat\tKatze"},
        {"text": TEXT, "require": "Hund\t \tKatze"},
        {"text": f"<p>{TEXT}</p>\n<br>{{x}}", "markup": "html"},
    )
    second = f"{TEXT[:15]}! {TEXT[16:]}!"
    assert [[text for text in row["translations"] if text] for row in answers] == [
        [f"Heute {TEXT}", f"Heute {second}"],
        [TEXT, second],
        [TEXT],
        ["der Hund The dog sleeps. Katze The cat sleeps!"],
        [f"Hund Katze {TEXT}"],
        [f"<p>{TEXT}</p>\n<br>{{x}}"],
    ]
    scores = [-1.2, -2.5, -0.6, -1.2, -0.6]
    assert [row["scores"][0] for row in answers[:5]] == pytest.approx(scores)


def test_only_rows_that_ask_for_words_have_them():
    plain, aligned, rated, both = predictions(
        {"text": TEXT},
        {"text": TEXT, "alignments": True},
        {"text": TEXT, "confidence": True},
        {"text": TEXT, "alignments": True, "confidence": True, "n_best": 2},
    )
    nothing, links, ratings = [""] * 4, " ".join(f"{n}-{n}" for n in range(6)), "0.5000 " * 6
    assert plain["words"] == plain["alignments"] == plain["confidence"] == nothing
    assert (aligned["alignments"][0], aligned["confidence"]) == (links, nothing)
    assert (rated["alignments"], rated["confidence"][0]) == (nothing, ratings.strip())
    assert [row["source_words"] for row in (aligned, rated, both)] == [TEXT] * 3
    assert (both["alignments"][0], both["confidence"][0]) == (links, ratings.strip())
    assert both["words"] == [TEXT, both["translations"][1], "", ""]
    (alone,) = predictions({"text": TEXT})
    assert alone.keys() == {"translations", "scores"}


def test_the_models_glossary_applies_where_a_request_has_none(tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tder Hund\n")
    translations = Translations(EchoEngine())
    translations.use_glossary(tmp_path / "terms.tsv")
    inputs = {"text": np.array([b"The dog.", b"The cat."], object)}
    own = inputs | {"glossary": np.array([b"", b"cat\tKatze"], object)}
    for name, given, expected in (
        ("serving_default", inputs, ["der Hund", "der Hund"]),
        (OPTIONS, own, ["der Hund", "Katze"]),
    ):
        requests = translations.requests(name, given, split=True)
        assert [[*each.glossary.targets.values()] for each in requests] == [[e] for e in expected]
    default = translations.default_glossary
    assert glossary_memory(requests[:1], default) == 0 < glossary_memory(requests, default)
    with pytest.raises(ValueError, match="no phrases"):
        Translations(Lacking()).use_glossary(tmp_path / "terms.tsv")


def test_equal_glossaries_are_read_once_and_count_once():
    translations = Translations(EchoEngine())
    glossary = "\n".join(f"a{n}\tb" for n in range(50)).encode()
    inputs = {"text": np.array([b"a"] * 3, object)}
    inputs["glossary"] = np.array([glossary, b"", glossary], object)
    requests = translations.requests(OPTIONS, inputs, True)
    assert requests[0].glossary is requests[2].glossary and requests[1].glossary is None
    assert glossary_memory(requests) == glossary_memory(requests[:1]) > 10_000
    assert glossary_memory(requests[1:2]) == 0


def test_the_default_of_a_float_is_the_engines_own():
    """JSON and float32 do not change 0.6, so the row is searched for without options."""
    engine = EchoEngine()
    predictions({"text": "a", "alpha": 0.6, "beam": 4}, {"text": "a"}, engine=engine)
    assert engine.calls == [("search", [], 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 9}, "Row 1: `beam` must be at most 4. Received: beam=9"),
        ({"n_best": 5}, "Row 1: `n_best` must be at most the beam width, beam=4"),
        ({"glossary": "dog Hund"}, "Row 1: `glossary`, line 1: must be a source phrase, a tab"),
        ({"text": "", "require": "Hund"}, "Row 1: the translation of an empty text is empty"),
        (
            {"text": "dog " * 300, "alignments": True, "split": False},
            "Row 1: a server aligns the words of sentences of fewer than 256 pieces",
        ),
    ],
)
def test_mistakes_are_refused_with_their_row_before_they_are_searched_for(options, message):
    engine = EchoEngine()
    with pytest.raises(Refusal) as error:
        predictions({"text": "a"}, {"text": "a", **options}, engine=engine)
    assert error.value.status == 400
    assert message in error.value.message
    assert not engine.calls or "alignments" in options


def test_only_errors_of_the_translator_about_a_text_are_shown_to_clients():
    def steps(error):
        yield
        raise error

    for error, kind in [(TextError(7, "wrong"), Refusal), (ValueError("a secret"), ValueError)]:
        refused = refusing(steps(error))
        next(refused)
        with pytest.raises(kind) as caught:
            next(refused)
        if kind is Refusal:
            assert (caught.value.status, caught.value.message) == (400, "Row 7: wrong")


def test_texts_that_cannot_be_encoded_do_not_break_the_answer():
    (answer,) = predictions({"text": {"b64": "YSD/IGI="}, "confidence": True})
    assert answer["translations"][0] == "a \ufffd b"
    translations, broken = Translations(EchoEngine()), "\udc80 a"
    inputs = {"text": np.array([b"a"], object), "confidence": np.array([True])}
    requests = translations.requests(OPTIONS, inputs, True)
    translation = Translation(broken, -1.0, [], Words([broken], [broken]), [0.5])
    outputs = translations.arrays(OPTIONS, requests, [[translation]])
    assert outputs["translations"][0, 0] == outputs["words"][0, 0] == b"? a"
    assert outputs["source_words"][0] == b"? a"
