"""A model of CTranslate2 gives the same results here as in CTranslate2 itself."""

import json
import shutil

import ctranslate2
import numpy as np
import pytest
from ctranslate2_folder import random_model, write_folder, write_vocabulary
from helpers import OTHER_SYSTEMS, array, tiny_model
from imported_logits import model_of

from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.importing.ctranslate2 import current_name, read

SOURCES = [list("abc"), list("gfedc"), list("ddddg")]


def their_scores(folder, sources, targets):
    """Returns the log-probabilities of each target's tokens and its end."""
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    return [result.log_probs for result in translator.score_batch(sources, targets)]


def our_scores(imported, sources, targets):
    model, scores = model_of(imported), []
    for source, target in zip(sources, targets, strict=True):
        sides = (imported.source.pieces, source), (imported.target.pieces, target)
        ids = [[pieces.index(token) for token in tokens] + [2] for pieces, tokens in sides]
        scores.append(array(log_probabilities(model, *(np.array([side]) for side in ids)))[0])
    return scores


def check_scores(folder, rtol=1e-4):
    targets = [list("ab"), list("dcba"), ["e"]]
    ours, theirs = (
        our_scores(read(folder), SOURCES, targets),
        their_scores(folder, SOURCES, targets),
    )
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=1e-4)


@pytest.fixture
def folder(tmp_path):
    """A model as OpenNMT-tf trains it: no end after the source, positions from 1."""
    return write_folder(tmp_path / "model", variables())


def variables(**settings):
    """Returns a random model whose begin and padding are never written, as in a trained one."""
    result = random_model(**settings)
    result["decoder/projection/weight"][:2] = 0
    if "decoder/projection/bias" in result:
        result["decoder/projection/bias"][:2] = -1e4
    return result


def test_scores_equal_those_of_ctranslate2(folder):
    check_scores(folder)
    imported = read(folder)
    assert imported.config.layers == (2, 1) and not imported.config.source_end
    assert imported.search == {"beam": 2, "alpha": 1.0, "penalty": "marian"}
    assert imported.source.pieces == ["<blank>", "<s>", "</s>", "<unk>", *"abcdefg"]
    assert imported.target.pieces == ["<blank>", "<s>", "</s>", "<unk>", *"abcde"]


# Attributes of current converters, and config.json.
MODERN = {f"{stack}/num_heads": np.int8(4) for stack in ("encoder", "decoder")}
MODERN |= {f"{stack}/pre_norm": np.int8(1) for stack in ("encoder", "decoder")}


def modern(activation=0, scale=1, **settings):
    result = variables(**settings) | MODERN
    for stack in ("encoder", "decoder"):
        result[f"{stack}/activation"] = np.int8(activation)
        result[f"{stack}/scale_embeddings"] = np.float32(scale) if scale > 1 else np.int8(scale)
    result["encoder/embeddings_0/weight"] = result.pop("encoder/embeddings/weight")
    return result


def write_modern(folder, variables, settings=None, aliases=()):
    write_folder(folder, variables, version=6, spec="TransformerSpec", revision=7, aliases=aliases)
    rows = variables["encoder/embeddings_0/weight"].shape[0]
    special = ["<blank>", "<s>", "</s>", "<unk>"]
    (folder / "source_vocabulary.txt").unlink()
    (folder / "target_vocabulary.txt").unlink()
    write_vocabulary(folder / "source_vocabulary.json", [*special, *"abcdefg"][:rows])
    write_vocabulary(folder / "target_vocabulary.json", [*special, *"abcde"])
    settings = {
        **{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
        **{"decoder_start_token": "<s>", "add_source_bos": False, "add_source_eos": True},
        **{"layer_norm_epsilon": None, **(settings or {})},
    }
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize(
    ("settings", "configuration"),
    [
        ({}, {}),
        ({"activation": 1}, {"layer_norm_epsilon": 0.1}),
        ({"activation": 2, "scale": 0}, {"add_source_eos": False}),
        ({"activation": 3, "scale": 2.5}, {"decoder_start_token": "</s>"}),
        ({"activation": 4, "bias": False}, {"add_source_bos": True}),
    ],
)
def test_scores_are_equal_for_every_option(tmp_path, settings, configuration):
    folder = write_modern(tmp_path / "model", modern(**settings), configuration)
    imported = read(folder)
    if configuration.get("add_source_bos"):
        assert imported.source.begin
        return  # the source's tokenizer writes begin
    check_scores(folder)


def test_zeros_to_start_from_and_a_scale_of_the_queries(tmp_path):
    changed = modern() | {"decoder/start_from_zero_embedding": np.int8(1)}
    for i in range(2):
        changed[f"encoder/layer_{i}/self_attention/queries_scale"] = np.float32(0.9)
    folder = write_modern(tmp_path / "model", changed)
    check_scores(folder)
    assert not read(folder).weights["embedding/matrix"].read()[1].any()


def test_an_output_that_is_an_alias_of_the_embeddings_is_tied(tmp_path):
    changed = modern()
    del changed["decoder/projection/weight"]
    folder = write_modern(
        tmp_path / "model",
        changed,
        {"decoder_start_token": "</s>"},
        aliases=[("decoder/projection/weight", "decoder/embeddings/weight")],
    )
    imported = read(folder)
    assert imported.config.tie_output and imported.config.pre_norm
    begin, end = imported.weights["embedding/matrix"].read()[1:3]
    np.testing.assert_array_equal(begin, end)
    bias = imported.weights["embedding/bias"].read()
    np.testing.assert_array_equal(bias[:2], [-1e4, -1e4])


def test_one_vocabulary_and_one_matrix_are_shared(tmp_path):
    changed = modern(source=9, target=9)
    changed["encoder/embeddings_0/weight"] = changed["decoder/embeddings/weight"]
    folder = write_modern(tmp_path / "model", changed)
    (folder / "source_vocabulary.json").unlink()
    (folder / "target_vocabulary.json").rename(folder / "shared_vocabulary.json")
    imported = read(folder)
    assert imported.source is imported.target and imported.config.source_vocab_size is None


def test_revision_1_has_other_names(folder, tmp_path):
    """The old names, written from those of OpenNMT-tf 1."""
    named = {}
    for name, value in variables(layers=(1, 1)).items():
        stack = name.split("/")[0]
        old = name.replace("embeddings/weight", "w_embs").replace("projection", "dense")
        old = old.replace("ffn/linear_0", "ffn/conv1d").replace("ffn/linear_1", "ffn/conv1d_1")
        old = old.replace("linear_0", "conv1d").replace("linear_", "conv1d_")
        if stack == "encoder":
            old = old.replace("self_attention", "multi_head")
        else:
            old = old.replace("/attention/", "/multi_head/")
            old = old.replace("self_attention", "masked_multi_head")
        old = old.replace("weight", "kernel").replace("layer_norm", "LayerNorm")
        assert current_name(f"transformer/{old}:0") == name
        named[f"transformer/{old}:0"] = value
    new = write_folder(tmp_path / "new", variables(layers=(1, 1)))
    old = write_folder(tmp_path / "old", named, version=1, revision=1)
    shutil.copy(new / "source_vocabulary.txt", old)
    for path, tensor in read(new).weights.items():
        np.testing.assert_array_equal(read(old).weights[path].read(), tensor.read())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {**OTHER_SYSTEMS, "norm_epsilon": 1e-6},
        {"positions": "learned", "max_length": 20, "activation": "gelu_tanh", "decoder_layers": 1},
        {"d_k": 8, "d_v": 8, "attention_bias": True, "tie_output": False, "output_bias": True},
    ],
)
def test_our_own_exports_come_back_bit_for_bit(tmp_path, settings):
    model = tiny_model(**settings)
    pieces = ["<pad>", "<s>", "</s>", "<unk>", *map(str, range(46))]
    rows = model.config.source_vocab_size or 50
    save_ctranslate2(model, pieces, tmp_path / "model", source_pieces=pieces[:rows])
    imported = read(tmp_path / "model")
    untouched = 0
    for weight in model.weights:
        path = weight.path.split("/", 1)[1]
        if weight.trainable and "matrix" not in path and path in imported.weights:
            expected = array(weight)
            if path.endswith("bias") and "embedding" in path:
                expected = np.concatenate([[-1e4, -1e4], expected[2:]])
            np.testing.assert_array_equal(imported.weights[path].read(), expected)
            untouched += 1
    assert untouched >= len(model.trainable_weights) - 3
    twin, random = model_of(imported), np.random.default_rng(0)
    inputs = {name: random.integers(3, 40, (2, 7)) for name in ("source", "target")}
    expected, found = array(model(inputs)), array(twin(inputs))
    np.testing.assert_allclose(found[..., 2:], expected[..., 2:], atol=2e-6)


FOREIGN = {
    "encoder/layer_0/self_attention/relative_position_keys": "relative positions",
    "encoder/layer_0/self_attention/rotary_dim": "rotary positions",
    "decoder/layer_0/ffn/linear_0_noact/weight": "gated linear units",
    "encoder/layernorm_embedding/gamma": "a norm of the embeddings",
    "encoder/embeddings_1/weight": "several sources or factors",
    "decoder/project_in/weight": "projections of the embeddings",
    "decoder/alibi": "ALiBi",
    "decoder/layer_0/self_attention/q_norm/gamma": "norms of queries and keys",
    "decoder/final_logit_softcapping": "capped logits",
    "decoder/invented/weight": "has tensors that .*: decoder/invented/weight",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_that_is_not_the_papers_is_refused_by_name(tmp_path, name):
    scalar = name.split("/")[-1] in ("rotary_dim", "alibi", "final_logit_softcapping")
    value = np.int8(1) if scalar else np.ones((2, 2), "float32")
    folder = write_folder(tmp_path / "model", random_model() | {name: value})
    with pytest.raises(ValueError, match=FOREIGN[name]):
        read(folder)


def without(name):
    return {key: value for key, value in random_model().items() if key != name}


def text(value):
    """Returns a string as model files contain it."""
    return np.frombuffer(value.encode(errors="surrogateescape"), "int8")


QUERIES_SCALE = "encoder/layer_0/self_attention/queries_scale"


def with_shape(name, *shape):
    return random_model() | {name: np.zeros(shape, "float32")}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (without("encoder/layer_1/ffn/linear_0/weight"), "no tensor encoder/layer_1/ffn/linear_0"),
        (without("decoder/embeddings/weight"), "has no tensor decoder/embeddings/weight"),
        (without("encoder/layer_norm/beta"), "has no tensor encoder/layer_norm/beta"),
        (without("decoder/layer_0/self_attention/linear_1/weight"), "self_attention/linear_1"),
        (with_shape("encoder/layer_0/self_attention/linear_0/weight", 24, 16), r"\(48, 16\)"),
        (with_shape("decoder/embeddings/weight", 9, 8), r"must have the shape \(any, 16\)"),
        (with_shape("encoder/layer_1/ffn/linear_0/weight", 30, 16), r"linear_1/weight must have"),
        (with_shape("encoder/layer_norm/gamma", 4), r"gamma must have the shape \(16\)"),
        (with_shape("encoder/layer_0/self_attention/linear_1/weight", 3), r"shape \(16, any\)"),
        (with_shape("encoder/layer_0/ffn/linear_0/weight_scale", 5), r"and its scale \(5,\)"),
        (random_model() | {"activation": np.int8(6)}, "activation 6 is not imported"),
        (random_model() | {"activation": np.int8(-1)}, "activation -1 is not imported"),
        (random_model() | {"num_heads": np.int8(0)}, "num_heads must be at least 1"),
        (random_model() | {"num_heads": np.float32("nan")}, "must be a finite number.* nan"),
        (random_model() | {"num_heads": text("four")}, "must be a finite number.* 'four'"),
        (random_model() | {"name": text("\udcff")}, "name is not UTF-8"),
        (random_model() | {QUERIES_SCALE: np.float32("nan")}, "queries_scale must be positive"),
        (random_model() | {"num_heads": np.int8(5)}, "the width 16, no multiple of 5 heads"),
        (
            random_model() | {"encoder/num_heads": np.int8(4), "decoder/num_heads": np.int8(2)},
            "must have the same num_heads. Received: 4 and 2",
        ),
        (
            random_model() | {"encoder/position_encodings/encodings": np.zeros((9, 16), "float32")},
            "only one of the stacks has positions",
        ),
    ],
)
def test_a_model_that_is_not_whole_is_refused(tmp_path, changed, message):
    folder = write_folder(tmp_path / "model", changed)
    with pytest.raises(ValueError, match=message):
        read(folder)


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("source_vocabulary.txt", None, "has no vocabulary of the source"),
        ("source_vocabulary.txt", "a\nb\n", "has 2 tokens, but its matrix 11 rows"),
        ("source_vocabulary.txt", "<blank>\n<s>\n</s>\n" + "a\n" * 7, "has a token twice"),
        ("target_vocabulary.txt", "a\nb\nc\nd\ne\nf\ng\nh\n", "the end, '</s>', is not in"),
        ("target_vocabulary.json", "[1, 2]", "must be a list of strings"),
        ("target_vocabulary.json", "{", "is no JSON file"),
        ("config.json", "[]", "config.json must hold a JSON object"),
        ("config.json", '{"decoder_start_token": "de"}', "starts from 'de', which is not in"),
        ("config.json", '{"unk_token": ["a"]}', "unk_token must be a string"),
        ("config.json", '{"add_source_eos": "no"}', "add_source_eos must be true or false"),
        ("config.json", '{"quantization_type": 1}', "quantization_type=1"),
        ("config.json", '{"multi_query_attention": true}', "multi_query_attention=True"),
    ],
)
def test_files_beside_the_model_are_checked(folder, name, contents, message):
    (folder / name).unlink(missing_ok=True)
    if contents is not None:
        (folder / name).write_text(contents)
    with pytest.raises(ValueError, match=message):
        read(folder)


@pytest.mark.parametrize("changes", [{"spec": "WhisperSpec"}, {"revision": 9}])
def test_a_different_kind_of_model_is_refused(tmp_path, changes):
    folder = write_folder(tmp_path / "model", **changes)
    with pytest.raises(ValueError, match=r"and not a Transformer for translation, of revision 7"):
        read(folder)
