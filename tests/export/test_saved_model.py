"""SavedModels answer as the run does, also where only TensorFlow is installed."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from support.processes.commands import UGLY

from pipelines.toy.grammar import pairs
from t2t_keras.decoding.batches import padded
from t2t_keras.decoding.search_config import ROW_OPTIONS
from t2t_keras.export.loading import checked_graph, load
from t2t_keras.export.signature_names import NO_SCORE
from t2t_keras.export.signature_names import OPTIONS as OPTIONS_SIGNATURE
from t2t_keras.translating.exports import load_translator
from t2t_keras.translating.request import Request

pytestmark = pytest.mark.long

# Ordinary sentences and odd lines. The last one has more pieces than a model takes at once.
ODD = [*(line for line in UGLY if len(line) < 100), "\u00e9\u0301\r\n\ufffd ", "dog " * 1100]
TEXTS = [*(english for english, _ in pairs(20)), *ODD]
TRANSLATIONS = "translations", "scores"
SENTENCES = ["The dog sleeps. A cat drinks!\n\nDr. No left. ", "你好。很好。 A man.", "", TEXTS[0]]
KINDS = [(1, 1, 1.5, 0), (3, 3, 0.0, 0), (4, 4, 0.6, 2)]  # values of ROW_OPTIONS
OPTIONS = [  # each text with and without a prefix
    {
        "text": text,
        "prefix": "Der Hund" * ((place + kind) % 2),
        **dict(zip(ROW_OPTIONS, KINDS[kind], strict=True)),
    }
    for kind in range(len(KINDS))
    for place, text in enumerate(SENTENCES)
]

# Loads both exports without t2t_keras, and the one with ids without tensorflow_text, too.
PROGRAM = """
import json, sys
for name in ("t2t_keras", "pipelines", "tensorflow_text"):
    sys.modules[name] = None
import tensorflow as tf
export, export_ids, texts, ids, options = sys.argv[1:]
texts, ids = json.load(open(texts)), json.load(open(ids))
ids_model = tf.saved_model.load(export_ids)
answers = {"ids": ids_model.signatures["translate_n_best"](source=tf.constant(ids))}
del sys.modules["tensorflow_text"]
import tensorflow_text
model = tf.saved_model.load(export)
inputs = {
    "serving_default": {"text": tf.constant(texts[:20])},
    "translate_n_best": {"text": tf.constant(texts)},
    "score": {"source": tf.constant(texts[:20]), "target": tf.constant(texts[1:21])},
    "attention": {"text": tf.constant(texts[:2]), "translation": tf.constant(texts[1:3])},
    "align": {"text": tf.constant(texts[:2]), "translation": tf.constant(texts[1:3])},
    "score_pieces": {"text": tf.constant(texts[:2]), "translation": tf.constant(texts[1:3])},
    "translate_with_options": {
        name: tf.constant(values) for name, values in json.load(open(options)).items()
    },
}
answers |= {name: model.signatures[name](**inputs[name]) for name in inputs}
def as_json(value):
    if isinstance(value, list):
        return [as_json(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value
print(json.dumps({
    name: {key: as_json(tensor.numpy().tolist()) for key, tensor in outputs.items()}
    for name, outputs in answers.items()
}))
"""


@pytest.fixture(scope="module")
def folder(exported):
    """A SavedModel in int8: its graphs of texts and those of ids must restore the same weights."""
    return exported("saved_model", "int8")


@pytest.fixture(scope="module")
def translator(folder):
    """The `Translator` of the export that takes text."""
    return load_translator(folder)


@pytest.fixture(scope="module")
def folder_for_ids(sharp_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "ids"
    return sharp_run.export(folder, "ids", n_best=2, dtype="int8")


@pytest.fixture(scope="module")
def answers(folder, folder_for_ids, translator, tmp_path_factory):
    """The answers of all signatures in a process that has only TensorFlow."""
    files = tmp_path_factory.mktemp("texts")
    ids = ids_of(translator, TEXTS[:3]).tolist()
    options = {name: [row[name] for row in OPTIONS] for name in OPTIONS[0]}
    for name, value in (("texts", TEXTS), ("ids", ids), ("options", options)):
        (files / name).write_text(json.dumps(value))
    arguments = [folder, folder_for_ids, *(files / name for name in ("texts", "ids", "options"))]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


def ids_of(translator, texts):
    return padded([[*ids, 2] for ids in translator.tokenizer.source.encode(texts)])


def requests(names=tuple(OPTIONS[0])):
    """Returns a `Request` for each row of `OPTIONS`, with some of its options."""
    return [Request(split="off", **{name: row[name] for name in names}) for row in OPTIONS]


def check_translations(outputs, expected):
    """Checks `translations` and `scores`, in which "" and the lowest score are missing ones."""
    rows = zip(outputs["translations"], outputs["scores"], expected, strict=True)
    for translations, scores, row in rows:
        missing = len(translations) - len(row)
        assert translations == [each.text for each in row] + [""] * missing
        expected_scores = [each.score for each in row] + [NO_SCORE] * missing
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)


def test_signatures_that_take_text_translate_as_the_translator_of_their_export(translator, answers):
    expected = translator.translations(TEXTS, split="off", n_best=4)
    assert len({best.text for best, *_ in expected}) > 10
    check_translations(answers["translate_n_best"], expected)
    best = {name: [[each] for each in answers["serving_default"][name]] for name in TRANSLATIONS}
    check_translations(best, [row[:1] for row in expected[:20]])
    expected = translator.translations(requests())
    check_translations(answers["translate_with_options"], expected)
    assert {len(row) for row in expected} >= {1, 3, 4}


def test_options_left_out_have_the_defaults_that_signatures_state(sharp_run, folder, translator):
    defaults = checked_graph(folder).signature_def[OPTIONS_SIGNATURE].defaults
    defaults = {name: tf.make_ndarray(value) for name, value in defaults.items()}
    alpha = pytest.approx([sharp_run.search().alpha])
    expected = {"prefix": [b""], "beam": [4], "n_best": [1], "alpha": alpha, "no_repeat_ngram": [0]}
    assert {name: value.tolist() for name, value in defaults.items()} == expected
    model, names = load(folder), ["text", "beam", "prefix"]
    inputs = defaults | {name: [row[name] for row in OPTIONS] for name in names}
    inputs = {name: tf.constant(values) for name, values in inputs.items()}
    outputs = model.signatures[OPTIONS_SIGNATURE](**inputs)
    texts = [[each.decode() for each in row] for row in outputs["translations"].numpy()]
    found = {"translations": texts, "scores": outputs["scores"].numpy()}
    check_translations(found, translator.translations(requests(names)))


def test_log_p_and_attention_of_texts_are_those_of_their_ids(sharp_run, translator, answers):
    texts = list(itertools.pairwise(TEXTS[:21]))
    scores = translator.score(texts)
    of_texts = answers["score"]["log_probabilities"]
    np.testing.assert_allclose(of_texts, [each.log_p for each in scores], rtol=1e-5)
    full = sharp_run.score(texts[:3], engine="tensorflow")
    assert all(one.log_p != other.log_p for one, other in zip(scores, full, strict=False))
    found = answers["score_pieces"]
    rows = zip(found["target_pieces"], found["log_probabilities"], scores, strict=False)
    for pieces, log_p, score in rows:
        count = len(score.tokens)
        assert pieces[: count - 1] == translator.tokenizer.target.pieces(score.tokens[:-1])
        assert pieces[count - 1] == "</s>" and not any(pieces[count:]) and not any(log_p[count:])
        np.testing.assert_allclose(log_p[:count], score.token_log_p, rtol=1e-5)
    attention, align = answers["attention"], answers["align"]
    source, target = ids_of(translator, TEXTS[:2]), ids_of(translator, TEXTS[1:3])
    expected, weights = translator.engine.attention(source, target), np.array(align["weights"])
    rows, columns = np.count_nonzero(target[0]) - 1, np.count_nonzero(source[0])
    np.testing.assert_allclose(weights[0, :rows, :columns], expected[0, :rows, :columns], 1e-5)
    cross = np.array(attention["cross"])[:, 0, 1, 1:]  # the head is shifted
    np.testing.assert_allclose(weights[:, :-1], cross, atol=1e-6)
    pieces = [*translator.tokenizer.source.pieces(source[0, : columns - 1]), "</s>"]
    assert list(filter(None, attention["source_pieces"][0])) == pieces
    for name in ("source_pieces", "target_pieces"):
        assert align[name] == attention[name]


def test_an_export_with_ids_needs_no_operation_of_tensorflow_text(translator, answers):
    found, lists = answers["ids"], translator.translations(TEXTS[:3], split="off", n_best=2)
    for ids, expected in zip(found["ids"], lists, strict=True):
        texts = [each.text for each in expected]
        assert translator.tokenizer.target.decode(ids) == texts + [""] * (2 - len(texts))
    np.testing.assert_allclose(found["scores"], [[e.score for e in row] for row in lists], 1e-5)


def test_signatures_have_these_inputs_and_outputs(folder, folder_for_ids):
    text, pair = {"text": [-1]}, {"text": [-1], "translation": [-1]}
    options = {name: [-1] for name in ("text", "prefix", *ROW_OPTIONS)}
    n_best = {name: [-1, 4] for name in TRANSLATIONS}
    source, target = {"source_pieces": [-1, -1]}, {"target_pieces": [-1, -1]}
    heads = {name: [-1, 1, 2, -1, -1] for name in ("encoder", "decoder", "cross")}
    assert signatures_of(folder) == {
        "serving_default": [text, {name: [-1] for name in TRANSLATIONS}],
        "translate_n_best": [text, n_best],
        "translate_with_options": [options, n_best],
        "score": [{"source": [-1], "target": [-1]}, {"log_probabilities": [-1]}],
        "score_pieces": [pair, target | {"log_probabilities": [-1, -1]}],
        "attention": [pair, source | target | heads],
        "align": [pair, source | target | {"weights": [-1, -1, -1]}],
    }
    assert signatures_of(folder_for_ids) == {
        "serving_default": [{"source": [-1, -1]}, {"ids": [-1, -1], "scores": [-1]}],
        "translate_n_best": [{"source": [-1, -1]}, {"ids": [-1, 2, -1], "scores": [-1, 2]}],
    }


def signatures_of(folder):
    """Returns the names and shapes of the inputs and outputs of each signature for clients."""
    found = checked_graph(folder).signature_def
    return {
        name: [
            {key: [each.size for each in tensor.tensor_shape.dim] for key, tensor in side.items()}
            for side in (found[name].inputs, found[name].outputs)
        ]
        for name in found
        if not name.startswith(("ids_", "__"))
    }
