"""SavedModels answer as the run does, also where only TensorFlow is installed."""

import copy
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from commands import UGLY, command
from helpers import tiny_model
from untrained import toy_tokenizer, untrained_run

from pipelines.sentences import split_sentences
from pipelines.toy_grammar import pairs
from t2t_keras.export.batchable import read_batchable
from t2t_keras.export.saved_model import graph, write
from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.export.signature_constants import OPTIONS as OPTIONS_SIGNATURE
from t2t_keras.export.signature_graphs import SignatureGraphs
from t2t_keras.translating.required_phrases import Requirements
from t2t_keras.translating.sentences import on_one_line, whole

pytestmark = pytest.mark.long

# Ordinary sentences and odd lines. The last one has more pieces than a model takes at once.
TEXTS = [english for english, _ in pairs(120)] + [*UGLY, "\u00e9\u0301\r\n\ufffd ", "dog " * 1100]
IDS = 3  # texts whose ids are translated
SENTENCES = [
    "The dog sleeps. A cat drinks!\n\nDr. No left. ",
    "你好。很好。 A man.",
    "",
    "\n One line. \n",
    TEXTS[0],
]
KINDS = [(1, 1, 1.5), (2, 1, 0.0), (3, 3, 0.6), (4, 4, 0.6)]  # beam, n_best, alpha
OPTIONS = [  # each text with and without a prefix, split and whole
    {
        "text": text,
        "split": (place + kind) % 4 < 2,
        "prefix": "Der Hund" * ((place + kind) % 2),
        **dict(zip(("beam", "n_best", "alpha"), KINDS[kind], strict=True)),
    }
    for kind in range(len(KINDS))
    for place, text in enumerate(SENTENCES)
]
# The last row of each text has the widest beam, so it may require phrases.
PHRASES = [["der Hund", "der"], ["Katze"], [], ["Mann", "Mann"], []]
for row in OPTIONS:
    widest = row["beam"] == max(KINDS)[0]
    row["require"] = "\t".join(PHRASES[SENTENCES.index(row["text"])]) if widest else ""

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
    "translate_small_batch": {"text": tf.constant(texts[:3]), "lengths": tf.constant([4, 32, 64])},
    "translate_batch": {
        "text": tf.constant(texts[:6]), "lengths": tf.constant([64]), "rows": tf.constant([2, 8])
    },
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
    result = command("translate", folder, "--json", "--n_best=4", "--alignments", stdin=lines)
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


def test_xla_finds_the_same_translations_of_a_small_batch(answers):
    several, small = answers["translate_n_best"], answers["translate_small_batch"]
    assert small["finished"] and all(4 < length <= 32 for length in small["length"])
    assert small["translations"] == several["translations"][:3]
    np.testing.assert_allclose(small["scores"], several["scores"][:3], rtol=1e-5)


def test_xla_finds_the_same_translations_of_a_larger_batch_in_stages(answers):
    several, batch = answers["translate_n_best"], answers["translate_batch"]
    assert batch["finished"]
    assert batch["translations"] == several["translations"][:6]
    np.testing.assert_allclose(batch["scores"], several["scores"][:6], rtol=1e-5)


def test_each_text_has_its_own_options(run, answers):
    found = answers["translate_with_options"]
    rows = zip(OPTIONS, found["translations"], found["scores"], strict=True)
    for options, translations, scores in rows:
        search = {name: options[name] for name in ("beam", "n_best", "alpha")}
        divide = split_sentences if options["split"] and not options["require"] else whole
        phrases = [options["require"].split("\t") if options["require"] else []]
        (expected,) = run.translator(**search).translate(
            [options["text"]],
            prefixes=[options["prefix"]],
            split=divide,
            requirements=Requirements(phrases),
        )
        several = len(divide(options["text"])[0]) > 1
        texts = [each.text if several else on_one_line(each.text) for each in expected]
        missing = 4 - len(expected)
        assert translations == texts + [""] * missing
        expected_scores = [each.score for each in expected] + [NO_SCORE] * missing
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)


def test_options_that_are_left_out_have_defaults(run, answers):
    signature = SignatureGraphs(run.folder / "export" / "1")["translate_with_options"]
    outputs = signature(text=tf.constant(SENTENCES))
    expected = run.translator(n_best=1).translate(SENTENCES, split=split_sentences)
    translations = [text.decode() for text in outputs["translations"][:, 0].numpy()]
    assert translations == [row[0].text for row in expected]
    assert not any(outputs["translations"][:, 1].numpy())


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


def test_kerass_own_export_of_the_model_gives_its_logits(tmp_path):
    model = tiny_model(num_layers=1)
    inputs = {"source": np.array([[5, 6, 2]], "int32"), "target": np.array([[1, 7]], "int32")}
    expected = model(inputs)
    model.export(tmp_path / "logits", verbose=False)
    exported = tf.saved_model.load(tmp_path / "logits")
    np.testing.assert_allclose(exported.serve(inputs), expected, atol=1e-5)


def test_a_full_disk_is_an_error_of_the_system(tmp_path, monkeypatch):
    def full_disk(*_, **__):
        raise tf.errors.OutOfRangeError(None, None, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full_disk)
    with pytest.raises(OSError, match=r"model could not be written: No space left on device"):
        write(tmp_path / "model", {})


def test_the_signature_with_options_is_traced_once(tmp_path):
    numbers, traces = tf.TensorSpec([None], tf.int32), []

    def double(text):
        traces.append(text)
        return {"double": 2 * text}

    write(tmp_path / "model", {OPTIONS_SIGNATURE: graph(double, numbers)})
    assert len(traces) == 1
    signature = tf.saved_model.load(tmp_path / "model").signatures[OPTIONS_SIGNATURE]
    assert signature(text=tf.constant([4]))["double"].numpy() == [8]


def test_a_model_with_restricted_attention_answers_as_its_run_does(tmp_path):
    words, source = tmp_path / "words", np.array([[50, 60, 70, 2], [80, 90, 2, 0]], "int32")
    settings = {"neighbourhood": 3, "decoder_neighbourhood": 4}
    run = untrained_run(tmp_path / "run", words, toy_tokenizer(words), end=3.0, **settings)
    exported = command("export", run.folder, "--ids_only", "--n_best=2")
    assert exported.returncode == 0, exported.stderr
    loaded = tf.saved_model.load(run.folder / "export_ids" / "1")
    answers = loaded.signatures["translate_n_best"](source=tf.constant(source))
    expected, scores = run.translator(n_best=2).decode(source, range(2))
    assert (np.asarray(expected) > 0).sum(-1).max() > 2 * 4, "the cache rolls"
    np.testing.assert_array_equal(answers["ids"], expected)
    np.testing.assert_allclose(answers["scores"], scores, atol=1e-5)
