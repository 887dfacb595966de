"""SavedModels answer as the run does, also where only TensorFlow is installed."""

import copy
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from support.processes.commands import UGLY, command
from support.runs.untrained import toy_tokenizer, untrained_run

from pipelines.toy.grammar import pairs
from t2t_keras.decoding.batches import padded
from t2t_keras.decoding.search_config import ROW_OPTIONS
from t2t_keras.export.signature_graphs import INITIALIZE, SignatureGraphs
from t2t_keras.export.signature_names import NO_SCORE, is_served, read_batchable
from t2t_keras.export.signature_names import OPTIONS as OPTIONS_SIGNATURE
from t2t_keras.translating.find import load_translator
from t2t_keras.translating.request import Request
from t2t_keras.translating.scoring import Scorer

pytestmark = pytest.mark.long

# Ordinary sentences and odd lines. The last one has more pieces than a model takes at once.
TEXTS = [english for english, _ in pairs(120)] + [*UGLY, "\u00e9\u0301\r\n\ufffd ", "dog " * 1100]
TRANSLATIONS = "translations", "scores"
IDS = 3  # texts whose ids are translated
SENTENCES = [
    "The dog sleeps. A cat drinks!\n\nDr. No left. ",
    "你好。很好。 A man.",
    "",
    "\n One line. \n",
    TEXTS[0],
]
KINDS = [(1, 1, 1.5), (2, 1, 0.0), (3, 3, 0.6), (4, 4, 0.6)]  # beam, n_best, alpha
OPTIONS = [  # each text with and without a prefix
    {
        "text": text,
        "prefix": "Der Hund" * ((place + kind) % 2),
        **dict(zip(ROW_OPTIONS, (*KINDS[kind], kind), strict=True)),
    }
    for kind in range(len(KINDS))
    for place, text in enumerate(SENTENCES)
]
SUBSETS = [["text"], ["text", "n_best"], ["text", "beam", "prefix"], ["text", "alpha"]]

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
def run(tmp_path_factory):
    """A run and its exports, with text and with ids."""
    folder = tmp_path_factory.mktemp("export")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    run = untrained_run(folder / "toy", folder / "vocabulary", tokenizer, end=3.0, extra_length=12)
    head = {"layer": 0, "head": 1, "shifted": False}
    (run.folder / "alignment.json").write_text(json.dumps({"head": head}))
    exported = command("export", run.folder)
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout == f"{run.folder / 'export' / '1'}\n"
    exported = command("export", run.folder, "--ids_only", "--n_best=2")
    assert exported.stdout == f"{run.folder / 'export_ids' / '1'}\n", exported.stderr
    return run


@pytest.fixture(scope="module")
def exported(run):
    """The `Translator` of the export that takes text."""
    return load_translator(run.folder / "export")


@pytest.fixture(scope="module")
def answers(run, tmp_path_factory):
    """The answers of all signatures in a process that has only TensorFlow."""
    folder = tmp_path_factory.mktemp("texts")
    ids = [[*map(int, ids), 2] for ids in run.tokenizer().encode(TEXTS[:IDS])]
    width = max(map(len, ids))
    ids = [[*row, *[0] * (width - len(row))] for row in ids]
    options = {name: [row[name] for row in OPTIONS] for name in OPTIONS[0]}
    for name, value in (("texts", TEXTS), ("ids", ids), ("options", options)):
        (folder / name).write_text(json.dumps(value))
    exports = [run.folder / name / "1" for name in ("export", "export_ids")]
    arguments = [*exports, *(folder / name for name in ("texts", "ids", "options"))]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


def translate(folder, texts):
    """Returns the four best translations of each text, as t2t-translate prints them as JSON."""
    lines = "".join(f"{' '.join(text.split())}\n" for text in texts)
    flags = "--json", "--n_best=4", "--alignments", "--split=off"
    result = command("translate", folder, *flags, stdin=lines)
    assert result.returncode == 0, result.stderr
    return [json.loads(line)["translations"] for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def translations(run):
    return translate(run.folder, TEXTS)


def test_translations_are_those_of_the_run(translations, answers):
    expected = copy.deepcopy(translations)
    best, several = answers["serving_default"], answers["translate_n_best"]
    assert best["translations"] == [row[0]["text"] for row in expected[:20]]
    scores = [row[0]["score"] for row in expected[:20]]
    np.testing.assert_allclose(best["scores"], scores, rtol=1e-6)
    assert len({row[0]["text"] for row in expected}) > 50
    missing = {"text": "", "score": float(np.finfo("float32").min)}
    rows = zip(several["translations"], several["scores"], expected, strict=True)
    for texts, scores, row in rows:
        row += [missing] * (4 - len(row))
        assert texts == [each["text"] for each in row]
        np.testing.assert_allclose(scores, [each["score"] for each in row], rtol=1e-6)


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


def as_lists(outputs):
    """Returns the outputs of a signature as the fixture `answers` does."""
    texts = [[each.decode() for each in row] for row in outputs["translations"].numpy()]
    return {"translations": texts, "scores": outputs["scores"].numpy()}


def test_each_text_has_its_own_options(run, answers):
    expected = run.translator().translations(requests())
    check_translations(answers["translate_with_options"], expected)
    assert {len(row) for row in expected} >= {1, 3, 4}


def test_options_that_are_left_out_have_the_defaults_that_the_signature_states(run, exported):
    signature = SignatureGraphs(run.folder / "export" / "1")[OPTIONS_SIGNATURE]
    defaults = {name: value.numpy().tolist() for name, value in signature.defaults.items()}
    alpha = pytest.approx([run.search().alpha])
    n = {"no_repeat_ngram": [0]}
    assert defaults == {"prefix": [b""], "beam": [4], "n_best": [1], "alpha": alpha, **n}
    for names in SUBSETS:
        given = {name: tf.constant([row[name] for row in OPTIONS]) for name in names}
        expected = exported.translations(requests(names))
        check_translations(as_lists(signature(**given)), expected)


def test_each_signature_that_takes_text_answers_as_the_translator_of_its_export(exported, answers):
    engine = exported.engine
    expected = exported.translations(TEXTS, split="off", n_best=4)
    check_translations(answers["translate_n_best"], expected)
    best = {name: [[each] for each in answers["serving_default"][name]] for name in TRANSLATIONS}
    check_translations(best, [row[:1] for row in expected[:20]])
    check_translations(answers["translate_with_options"], exported.translations(requests()))
    scorer = Scorer(engine, exported.tokenizer)
    scores = scorer.score(list(itertools.pairwise(TEXTS[:21])))
    of_texts = answers["score"]["log_probabilities"]
    np.testing.assert_allclose(of_texts, [each.log_p for each in scores], rtol=1e-5)
    for found, score in zip(answers["score_pieces"]["log_probabilities"], scores, strict=False):
        count = len(score.tokens)
        np.testing.assert_allclose(found[:count], score.token_log_p, rtol=1e-5)
    ids = [
        padded([[*ids, 2] for ids in engine.tokenizer.encode(TEXTS[:3])[i : i + 2]]) for i in (0, 1)
    ]
    found = np.array(answers["align"]["weights"])
    weights = engine.attention(*ids)[:, : found.shape[1], : found.shape[2]]
    written = np.array(answers["align"]["target_pieces"]) != ""
    np.testing.assert_allclose(found[written], weights[written], atol=1e-6)


def test_signatures_have_these_inputs_and_outputs(run):
    text, pair = {"text": [-1]}, {"text": [-1], "translation": [-1]}
    options = {name: [-1] for name in ("text", "prefix", *ROW_OPTIONS)}
    n_best = {name: [-1, 4] for name in TRANSLATIONS}
    source, target = {"source_pieces": [-1, -1]}, {"target_pieces": [-1, -1]}
    heads = {name: [-1, 1, 2, -1, -1] for name in ("encoder", "decoder", "cross")}
    assert signatures_of(run.folder / "export" / "1") == {
        "serving_default": [text, {name: [-1] for name in TRANSLATIONS}],
        "translate_n_best": [text, n_best],
        "translate_with_options": [options, n_best],
        "score": [{"source": [-1], "target": [-1]}, {"log_probabilities": [-1]}],
        "score_pieces": [pair, target | {"log_probabilities": [-1, -1]}],
        "attention": [pair, source | target | heads],
        "align": [pair, source | target | {"weights": [-1, -1, -1]}],
    }
    assert signatures_of(run.folder / "export_ids" / "1") == {
        "serving_default": [{"source": [-1, -1]}, {"ids": [-1, -1], "scores": [-1]}],
        "translate_n_best": [{"source": [-1, -1]}, {"ids": [-1, 2, -1], "scores": [-1, 2]}],
    }


def signatures_of(folder):
    """Returns the names and shapes of the inputs and outputs of each signature for clients."""
    found = SignatureGraphs(folder).graph.signature_def
    return {
        name: [
            {key: [each.size for each in tensor.tensor_shape.dim] for key, tensor in side.items()}
            for side in (found[name].inputs, found[name].outputs)
        ]
        for name in found
        if is_served(name) and name != INITIALIZE
    }


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_smaller_weights_give_through_ids_what_they_give_through_text(run, tmp_path, dtype):
    exported = load_translator(run.export(tmp_path, dtype=dtype, beam=2))
    signatures, texts = exported.engine.signatures, TEXTS[:5]
    outputs = signatures["translate_n_best"](text=tf.constant(texts))
    check_translations(as_lists(outputs), exported.translations(texts, split="off", n_best=2))
    scored = list(itertools.pairwise(texts))
    ours, full = (each.score(scored) for each in (Scorer(exported.engine, exported.tokenizer), run))
    source, target = map(tf.constant, zip(*scored, strict=True))
    found = signatures["score"](source=source, target=target)["log_probabilities"]
    np.testing.assert_allclose(found, [each.log_p for each in ours], rtol=1e-5)
    assert all(one.log_p != other.log_p for one, other in zip(ours, full, strict=True))
    weights = signatures["align"](text=source, translation=target)["weights"]
    heads = signatures["attention"](text=source, translation=target)["cross"]
    np.testing.assert_allclose(weights, heads[:, 0, 1], atol=1e-6)


def test_scores_are_those_of_the_run(run, answers):
    lines = "".join(f"{a}\t{b}\n" for a, b in itertools.pairwise(TEXTS[:21]))
    expected = command("score", run.folder, "--json", stdin=lines)
    expected = [json.loads(line)["log_p"] for line in expected.stdout.splitlines()]
    np.testing.assert_allclose(answers["score"]["log_probabilities"], expected, rtol=1e-5)


def test_scores_of_pieces_are_those_of_the_run(run, answers):
    expected = run.scorer().score([(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2])])
    found = answers["score_pieces"]
    rows = zip(found["target_pieces"], found["log_probabilities"], expected, strict=True)
    for pieces, scores, score in rows:
        count = len(score.tokens)
        assert pieces[count - 1] == "</s>" and not any(pieces[count:]) and not any(scores[count:])
        assert pieces[: count - 1] == run.tokenizer().pieces(score.tokens[:-1])
        np.testing.assert_allclose(scores[:count], score.token_log_p, rtol=1e-5)


def test_attention_weights_are_those_of_the_model(run, answers):
    tokenizer, model, attention = run.tokenizer(), run.model(), answers["attention"]
    for row in range(2):
        source, target = ([*ids, 2] for ids in tokenizer.encode([TEXTS[row], TEXTS[row + 1]]))
        rows, columns = len(target), len(source)
        pieces = [*tokenizer.pieces(target[:-1]), "</s>"]
        assert list(filter(None, attention["target_pieces"][row])) == pieces
        inputs = {"source": np.array([source]), "target": np.array([[1, *target[:-1]]])}
        weights = model.attention_weights(inputs)
        for name, key, shape in [
            ("encoder", "encoder/0/self_attention", (columns, columns)),
            ("decoder", "decoder/0/self_attention", (rows, rows)),
            ("cross", "decoder/0/cross_attention", (rows, columns)),
        ]:
            of_row = np.array(attention[name])[row, 0, :, : shape[0], : shape[1]]
            np.testing.assert_allclose(of_row, weights[key][0], atol=1e-5)


def test_words_are_aligned_by_the_chosen_head(answers):
    align, attention = answers["align"], answers["attention"]
    np.testing.assert_allclose(align["weights"], np.array(attention["cross"])[:, 0, 1], atol=1e-6)
    for name in ("source_pieces", "target_pieces"):
        assert align[name] == attention[name]


def test_an_export_with_ids_needs_no_operation_of_tensorflow_text(run, translations, answers):
    for ids, expected in zip(answers["ids"]["ids"], translations, strict=False):
        texts = [each["text"] for each in expected[:2]]
        assert run.tokenizer().decode(ids) == texts + [""] * (2 - len(texts))
    assert np.shape(answers["ids"]["scores"]) == (IDS, 2)


def test_an_export_states_which_signatures_may_be_batched(run):
    batchable = {"serving_default", "translate_n_best", "score", "translate_with_options"}
    assert read_batchable(run.folder / "export" / "1") == batchable
    assert read_batchable(run.folder / "export_ids" / "1") == set()


def test_translate_takes_an_export(run, translations):
    some = [index for index in (*range(10), *range(120, len(TEXTS))) if len(TEXTS[index]) < 1000]
    results = translate(run.folder / "export" / "1", [TEXTS[index] for index in some])
    for result, expected in zip(results, (translations[index] for index in some), strict=True):
        for name in ("text", "alignment"):
            assert [each[name] for each in result] == [each[name] for each in expected]
        scores = ([each["score"] for each in row] for row in (result, expected))
        np.testing.assert_allclose(*scores, rtol=1e-6)
