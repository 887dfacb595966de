"""JSON becomes `Request`s and pairs of texts, and results become JSON, as TensorFlow Serving's."""

import json

import numpy as np
import pytest
from support.serving.served_engine import HEADS, LAYERS, TAGS, EchoEngine, Lacking, predictions

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.signature_names import NO_SCORE, OPTIONS
from t2t_keras.serving.apis import bodies
from t2t_keras.serving.apis.bodies import as_json
from t2t_keras.serving.apis.tensorflow_serving import (
    as_json_in,
    option,
    query_of,
    rows_in,
    translated,
)
from t2t_keras.serving.apis.tensorflow_serving_signatures import (
    REQUIRED,
    metadata_of,
    signatures_of,
)
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.model import ServedModel
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words

TEXT = "The dog sleeps. The cat sleeps!"
DEFAULTS = {"alpha": 0.6, "beam": 4, "mbr": 0, "n_best": 1, "split": True, "prefix": ""}
DEFAULTS |= {"require": "", "glossary": "", "markup": "", "alignments": False, "confidence": False}
TEXTS = {"text": REQUIRED}
PAIR = {"source": REQUIRED, "target": REQUIRED}
TRANSLATING = {"serving_default", "translate_n_best", OPTIONS}


def metadata(engine):
    signatures = signatures_of(ServedModel(engine)).items()
    return {name: metadata_of(each) for name, each in signatures}


def defaults(engine):
    return metadata(engine)[OPTIONS]["defaults"]


def rows(request, inputs=TEXTS):
    """Returns the rows of a request, given its body or a value for JSON."""
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    return rows_in(*query_of(body)[1:], inputs, Limits(max_rows_in_flight=8))


def test_metadata_has_the_options_that_the_engine_has_and_their_defaults():
    assert defaults(EchoEngine()) == DEFAULTS
    assert defaults(EchoEngine(split="off"))["split"] is False
    assert defaults(EchoEngine(tags=[TAGS[0], None])) == DEFAULTS | {"to": ""}
    signature = metadata(EchoEngine())[OPTIONS]
    types = {str: "DT_STRING", bool: "DT_BOOL", int: "DT_INT32", float: "DT_FLOAT"}
    assert {name: each["dtype"] for name, each in signature["inputs"].items()} == {
        name: types[type(value)] for name, value in {"text": "", **DEFAULTS}.items()
    }
    words = {"alignments", "confidence", "source_words", "words"}
    assert signature["outputs"].keys() == {"translations", "scores"} | words


def test_an_option_that_the_engine_lacks_is_no_input():
    assert defaults(Lacking()).keys() == {"beam", "confidence", "mbr", "prefix", "split"}
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


def test_the_default_of_a_float_is_the_engines_own():
    """So the row is searched for without options."""
    engine = EchoEngine()
    predictions({"text": "a", "alpha": 0.6, "beam": 4}, {"text": "a"}, engine=engine)
    assert engine.calls == [("search", [], 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 9}, "Row 1: `beam` must be at most 4. Received: beam=9"),
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


def test_texts_that_cannot_be_encoded_do_not_break_the_answer():
    (answer,) = predictions({"text": {"b64": "YSD/IGI="}, "confidence": True})
    assert answer["translations"][0] == "a \ufffd b"
    translation = Translation("\udc80 a", -1.0, [], Words(["\udc80 a"], ["\udc80 a"]), [0.5])
    columns = translated([{"confidence": True}], [[translation]], 1)
    (answer,) = json.loads(as_json_in("instances", lambda: columns))["predictions"]
    assert answer["translations"] == answer["words"] == ["? a"] and answer["source_words"] == "? a"


def test_signatures_about_pairs_are_those_that_the_engine_can_compute():
    found = metadata(EchoEngine())
    assert found.keys() == TRANSLATING | {"score", "score_pieces", "align", "attention"}
    assert metadata(Lacking()).keys() >= {"score", "attention"}
    assert "align" not in metadata(Lacking())
    several = metadata(EchoEngine(tags=list(TAGS)))
    assert several.keys() == TRANSLATING, "the pair does not say its tag"
    cross = found["attention"]["outputs"]["cross"]
    assert cross["dtype"] == "DT_FLOAT"
    sizes = [axis["size"] for axis in cross["tensor_shape"]["dim"]]
    assert sizes == ["-1", str(LAYERS), str(HEADS), "-1", "-1"]


def test_pairs_get_their_scores_and_weights_padded_to_the_longest():
    texts = ["The dog sleeps.", "dog"]
    pairs = [{"text": text, "translation": text} for text in texts]
    ids = [len(each) + 1 for each in EchoEngine().tokenizer.source.encode(texts)]
    scores = predictions(*({"source": text, "target": text} for text in texts), signature="score")
    assert scores == pytest.approx([size * np.log(0.5) for size in ids])
    long, short = predictions(*pairs, signature="score_pieces")
    gap = ids[0] - ids[1]
    assert short["target_pieces"][-gap - 1 :] == ["</s>"] + [""] * gap
    assert short["log_probabilities"][-gap:] == [0.0] * gap
    assert len(long["log_probabilities"]) == len(short["target_pieces"]) == ids[0]
    for name, key in (("align", "weights"), ("attention", "cross")):
        long, short = predictions(*pairs, signature=name)
        weights = np.array(short[key]).reshape(-1, ids[0], ids[0])
        assert (weights == np.pad(np.eye(ids[1]), [(0, gap), (0, gap)])).all()
        assert short["source_pieces"] == short["target_pieces"]
        assert "".join(long["source_pieces"]) == "▁The▁dog▁sleeps.</s>"


def test_a_pair_that_is_too_long_is_refused_with_its_row():
    long = {"text": "dog " * 300, "translation": "a"}
    with pytest.raises(Refusal, match="Row 1: a text must have at most 256 tokens") as error:
        predictions({"text": "a", "translation": "a"}, long, signature="align")
    assert error.value.status == 400
    wide = {"text": "a " * 100, "translation": "a " * 100}
    with pytest.raises(Refusal, match="would have 183,618 values; at most 100,000") as error:
        predictions(wide, signature="attention", max_answer_values=100_000)
    assert error.value.status == 413


@pytest.mark.parametrize(
    "request_body",
    [
        {"instances": [{"text": "a b"}, {"text": "c"}]},
        {"inputs": {"text": ["a b", "c"]}},
        {"instances": [{"b64": "YSBi"}, "c"]},
        {"inputs": ["a b", {"b64": "Yw"}]},
    ],
)
def test_rows_and_columns_are_equivalent_and_a_single_input_needs_no_name(request_body):
    assert rows(request_body) == [{"text": "a b"}, {"text": "c"}]


def test_several_inputs_are_named_in_rows_or_columns():
    expected = [{"source": "a", "target": "c"}, {"source": "b", "target": "d"}]
    assert rows({"instances": expected}, PAIR) == expected
    assert rows({"inputs": {"source": ["a", "b"], "target": ["c", "d"]}}, PAIR) == expected
    with pytest.raises(Refusal, match="equally long"):
        rows({"inputs": {"source": ["a", "b"], "target": ["c"]}}, PAIR)


def test_rows_may_leave_out_options_and_values_mean_the_fields_of_a_request():
    inputs = signatures_of(ServedModel(EchoEngine()))[OPTIONS].inputs
    given = [{"text": "a"}, {"text": "b", "require": "x\t \ty", "markup": "", "split": False}]
    first, second = rows({"instances": given}, inputs)
    assert first == {"text": "a"}
    other = {"text": "b", "require": ["x", "y"], "markup": None, "split": "off"}
    assert {name: option(name, value) for name, value in second.items()} == other
    with pytest.raises(Refusal, match=r"Row 0 lacks text\. The inputs are: text, alignments"):
        rows({"instances": [{"beam": 2}]}, inputs)


def test_the_default_signature_is_serving_default():
    assert query_of(b'{"inputs": []}') == ("serving_default", "inputs", [])
    assert query_of(b'{"inputs": [], "signature_name": ""}')[0] == "serving_default"
    assert query_of(b'{"inputs": [], "signature_name": "score"}')[0] == "score"


@pytest.mark.parametrize("piece", [bodies.PIECE, 6, 3, 1])
def test_answers_are_rows_for_rows_and_columns_for_columns(piece, monkeypatch):
    """In whatever pieces they are converted to JSON."""
    monkeypatch.setattr(bodies, "PIECE", piece)
    texts, weights = [["a", "b"], ["c", "d"], ["e", "é"]], [[[1.0, 2.0]], [[3.0, 4.5]], [[5, None]]]
    outputs = {"text": texts, "weights": np.array(weights, "float32")}

    def answer(form):
        return json.loads(as_json_in(form, lambda: outputs))

    found = [{"text": t, "weights": w} for t, w in zip(texts, weights, strict=True)]
    assert answer("instances") == {"predictions": found}
    assert answer("inputs") == {"outputs": {"text": texts, "weights": weights}}
    del outputs["text"]
    assert answer("instances") == {"predictions": weights}
    assert answer("inputs") == {"outputs": weights}


def test_floats_have_the_fewest_digits_that_identify_them_and_nan_and_infinities_are_null():
    values = np.array([[np.inf, 0.1], [-np.inf, np.nan]], "float32")
    assert as_json(values) == b"[[null, 0.1], [null, null]]"
    assert as_json(np.array([0.1, -3.0], "float32")) == b"[0.1, -3.0]"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b'{"instances": ["a"', 400, "JSON parse error: Expecting ',' delimiter at offset 18"),
        (b'{"instances": ["\xff"]}', 400, "not UTF-8 (byte 16)"),
        (b"[" * 100_000, 400, "nested too deeply"),
        ([], 400, "must be a JSON object"),
        ({}, 400, "Received: neither"),
        ({"instances": ["a"], "inputs": ["a"]}, 400, "Received: both"),
        ({"signature_name": 3, "instances": ["a"]}, 400, "'signature_name' must be a string"),
        ({"instances": []}, 400, "must be a list of one row or more"),
        ({"instances": "a"}, 400, "must be a list of one row or more"),
        ({"inputs": []}, 400, "'inputs' must be a list, or an object"),
        ({"instances": [["a"]]}, 400, 'Received: ["a"]'),
        ({"instances": [3]}, 400, "must be a string, or"),
        ({"instances": [{"b64": "%"}]}, 400, "not valid base64"),
        ({"instances": ["\ud800"]}, 400, "unpaired surrogate"),
        ({"instances": ["x"] * 5}, 413, "has 5 rows; at most 4 are allowed"),
        ({"inputs": ["x"] * 5}, 413, "has 5 rows; at most 4 are allowed"),
        ({"instances": [{"text": "a"}, "b"]}, 400, "Row 1 must be an object with the inputs: text"),
        ({"instances": [{"txet": "a"}]}, 400, "unknown input 'txet' (did you mean 'text'?)"),
        ({"instances": [{"text": "a", "n_best": 3}]}, 400, f'"signature_name": "{OPTIONS}"'),
    ],
)
def test_malformed_requests_are_refused_with_a_reason(body, status, message):
    with pytest.raises(Refusal) as error:
        rows(body)
    assert error.value.status == status
    assert message in error.value.message


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"beam": True}, "`beam` must be a whole number"),
        ({"beam": 1.5}, "`beam` must be a whole number"),
        ({"beam": "2"}, 'must be int32. Received: "2"'),
        ({"alpha": 10**400}, "`alpha` must be a number from 0 to 10"),
        ({"alpha": 1e300}, "`alpha` must be a number from 0 to 10"),
        ({"alpha": []}, "must be float32. Received: []"),
        ({"split": 1}, "must be bool. Received: 1"),
        ({"prefix": "x" * 4001}, "has 4,001 bytes; at most 4,000 are allowed (--max_text_bytes"),
    ],
)
def test_wrong_values_of_options_are_refused(option, message):
    with pytest.raises(Refusal) as error:
        predictions({"text": "a"} | option)
    assert message in error.value.message
