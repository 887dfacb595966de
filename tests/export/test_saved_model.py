"""Exported models beside the runs they are of, also where there is nothing but TensorFlow."""

import itertools
import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from commands import UGLY, command
from untrained import toy_tokenizer, untrained_run

from pipelines.toy_grammar import pairs
from t2t_keras.decoding.translator import Translator
from t2t_keras.export.loading import load
from t2t_keras.export.text_signatures import in_batches, parts
from t2t_keras.runs.exports import export_in

# 500 sentences, and what nobody expects; the last one has more pieces than a model takes at once.
TEXTS = [english for english, _ in pairs(500)] + [*UGLY, "\u00e9\u0301\r\n\ufffd ", "dog " * 1100]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    run = untrained_run(folder / "toy", folder / "vocabulary", tokenizer, end=3.0)
    exported = command("export", run.folder)
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout == f"{run.folder / 'export' / '1'}\n"
    return run


def elsewhere(program, *arguments, without=()):
    """Runs a program where these modules are not to be had, and reads the JSON that it prints."""
    for module in ("t2t_keras", "pipelines", *without):
        program = f"import sys; sys.modules[{module!r}] = None\n{program}"
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


LOAD = """
import json
import tensorflow as tf
import tensorflow_text
texts = json.load(open(sys.argv[2]))
model = tf.saved_model.load(sys.argv[1])
def plain(x):
    return [plain(each) for each in x] if isinstance(x, list) else x.decode()
print(json.dumps({
    name: {key: (plain if value.dtype == tf.string else list)(value.numpy().tolist())
           for key, value in model.signatures[name](**arguments).items()}
    for name, arguments in {
        "serving_default": {"text": tf.constant(texts)},
        "translate_n_best": {"text": tf.constant(texts)},
        "score": {"source": tf.constant(texts[:20]), "target": tf.constant(texts[1:21])},
        "attention": {"text": tf.constant(texts[:2]), "translation": tf.constant(texts[1:3])},
    }.items()
}))
"""


@pytest.fixture(scope="module")
def answers(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.json"
    path.write_text(json.dumps(TEXTS))
    return elsewhere(LOAD, run.folder / "export" / "1", path)


def test_where_only_tensorflow_is_it_translates_as_the_run_does(run, answers):
    lines = "".join(f"{' '.join(text.split())}\n" for text in TEXTS)
    expected = command("translate", run.folder, "--json", "--n_best=4", stdin=lines)
    assert expected.returncode == 0, expected.stderr
    expected = [json.loads(line)["translations"] for line in expected.stdout.splitlines()]
    best, several = answers["serving_default"], answers["translate_n_best"]
    assert best["translations"] == [found[0]["text"] for found in expected]
    scores = [found[0]["score"] for found in expected]
    np.testing.assert_allclose(best["scores"], scores, rtol=1e-6)
    assert len(set(best["translations"])) > 50
    nothing = {"text": "", "score": float(np.finfo("float32").min)}
    rows = zip(several["translations"], several["scores"], expected, strict=True)
    for texts, scores, found in rows:
        found += [nothing] * (4 - len(found))
        assert texts == [each["text"] for each in found]
        np.testing.assert_allclose(scores, [each["score"] for each in found], rtol=1e-6)


def test_it_scores_as_the_run_does(run, answers):
    lines = "".join(f"{a}\t{b}\n" for a, b in itertools.pairwise(TEXTS[:21]))
    expected = command("score", run.folder, "--json", stdin=lines)
    expected = [json.loads(line)["log_p"] for line in expected.stdout.splitlines()]
    np.testing.assert_allclose(answers["score"]["log_probabilities"], expected, rtol=1e-5)


def test_it_says_where_each_head_looks(run, answers):
    tokenizer, model, found = run.tokenizer(), run.model(), answers["attention"]
    for row in range(2):
        source, target = ([*ids, 2] for ids in tokenizer.encode([TEXTS[row], TEXTS[row + 1]]))
        rows, columns = len(target), len(source)
        pieces = [*tokenizer.pieces(target[:-1]), "</s>"]
        assert list(filter(None, found["target_pieces"][row])) == pieces
        inputs = {"source": np.array([source]), "target": np.array([[1, *target[:-1]]])}
        weights = model.attention_weights(inputs)
        for name, key, shape in [
            ("encoder", "encoder/0/self_attention", (columns, columns)),
            ("decoder", "decoder/0/self_attention", (rows, rows)),
            ("cross", "decoder/0/cross_attention", (rows, columns)),
        ]:
            of_row = np.array(found[name])[row, 0, :, : shape[0], : shape[1]]
            np.testing.assert_allclose(of_row, weights[key][0], atol=1e-5)


def test_ids_need_no_operation_of_tensorflow_text(run):
    exported = command("export", run.folder, "--ids_only", "--beam=2")
    assert exported.stdout == f"{run.folder / 'export_ids' / '1'}\n", exported.stderr
    ids = [[*map(int, ids), 2] for ids in run.tokenizer().encode(TEXTS[:3])]
    width = max(map(len, ids))
    program = """
import json
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
found = model.signatures["serving_default"](source=tf.constant(json.loads(sys.argv[2])))
print(json.dumps(found["ids"].numpy().tolist()))
"""
    source = json.dumps([[*row, *[0] * (width - len(row))] for row in ids])
    found = elsewhere(program, exported.stdout.strip(), source, without=["tensorflow_text"])
    expected = command("translate", run.folder, "--beam=2", stdin="\n".join(TEXTS[:3]))
    assert run.tokenizer().decode(found) == expected.stdout.splitlines()


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_fewer_bytes_and_nearly_the_same(run, dtype):
    exported = command("export", run.folder, f"--dtype={dtype}", "--n_best=1")
    assert exported.returncode == 0, exported.stderr
    folder = exported.stdout.strip()
    sizes = [
        sum(path.stat().st_size for path in (run.folder / "export").glob(f"{version}/variables/*"))
        for version in ("1", folder[-1])
    ]
    assert sizes[1] < {"bfloat16": 0.75, "int8": 0.6}[dtype] * sizes[0]
    pairs = {"source": tf.constant(TEXTS[:50]), "target": tf.constant(TEXTS[1:51])}
    models = [load(path) for path in (folder, run.folder / "export" / "1")]
    found, expected = (model.signatures["score"](**pairs) for model in models)
    difference = np.abs(found["log_probabilities"] - expected["log_probabilities"])
    assert 0 < difference.max() < 0.5


def test_translate_takes_an_export(run):
    text = "\n".join(TEXTS[:20]) + "\n\n"
    for options in ([], ["--n_best=2", "--scores"]):
        found, expected = (
            command("translate", folder, *options, stdin=text)
            for folder in (run.folder / "export" / "1", run.folder)
        )
        assert found.returncode == 0, found.stderr
        assert found.stdout == expected.stdout
    refused = command("translate", run.folder / "export", "--beam=2", stdin="a")
    assert refused.returncode == 2 and "--beam is not for an export" in refused.stderr


def test_a_file_for_keras(run):
    exported = command("export", run.folder, "--format=keras")
    assert exported.stdout == f"{run.folder / 'model.keras'}\n", exported.stderr
    model = keras.saving.load_model(run.folder / "model.keras")
    inputs = {"source": np.array([[5, 6, 2]]), "target": np.array([[1, 7]])}
    np.testing.assert_array_equal(model(inputs), run.model()(inputs))


def test_keras_own_export(run, tmp_path):
    model = run.model()
    inputs = {"source": np.array([[5, 6, 2]], "int32"), "target": np.array([[1, 7]], "int32")}
    model(inputs)
    model.export(tmp_path / "logits", verbose=False)
    exported = tf.saved_model.load(tmp_path / "logits")
    np.testing.assert_allclose(exported.serve(inputs), model(inputs), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one run's folder. Received: none"),
        (["nowhere"], "nowhere is no run"),
        (["{0}", "--sample"], "a SavedModel draws nothing"),
        (["{0}", "--n_best=9"], "`n_best` must be at most"),
        (["{0}", "--dtype=int4"], "value should be one of <float32|bfloat16|int8>"),
        (["{0}", "--format=keras", "--output={0}/model.h5"], "ends with .keras"),
    ],
)
def test_export_names_what_is_wrong(run, arguments, message):
    before = sorted(run.folder.glob("export/*"))
    result = command("export", *(argument.format(run.folder) for argument in arguments))
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert sorted(run.folder.glob("export/*")) == before


def test_parts_are_those_of_a_translator():
    class Words:
        begins_word = np.arange(10) > 6

    random = np.random.default_rng(0)
    texts = [random.integers(3, 10, n).astype("int32") for n in (0, 1, 9, 10, 11, 0, 57, 200, 0)]
    texts += [np.full(35, 4, "int32")]
    translator = Translator(Words(), None, longest=11)
    expected = [(n, *part) for n, ids in enumerate(texts) for part in translator.parts(ids)]
    ids = tf.ragged.constant([ids.tolist() for ids in texts], dtype=tf.int32)
    found, text_of = parts(ids, tf.constant(Words.begins_word), 10)
    found = [(n, *part) for n, part in zip(text_of.numpy(), found.to_list(), strict=True)]
    assert found == expected
    assert max(map(len, expected)) == 11


def test_batches_come_back_in_order():
    seen = []

    def doubled(rows):
        seen.append(rows.numpy().tolist())
        return (tf.cast(rows, tf.float32) * 2,)

    lengths = tf.constant([3, 30, 8, 17, 1])
    (found,) = in_batches(doubled, lengths, 48, (tf.zeros([0]),))
    assert found.numpy().tolist() == [0, 2, 4, 6, 8]
    assert seen == [[1], [3, 2], [0, 4]]


def test_the_newest_version_is_meant(run):
    newest = max(int(path.name) for path in (run.folder / "export").glob("[0-9]*"))
    assert export_in(run.folder / "export").name == str(newest)
    assert export_in(run.folder) is None
