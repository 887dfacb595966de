"""Models of CTranslate2 that are not the paper's, or not whole, are refused by name."""

import numpy as np
import pytest
from support.importing.ctranslate2_folder import random_model, write_folder

from t2t_keras.importing.ctranslate2 import read


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "model")


FOREIGN = {
    "encoder/layer_0/self_attention/relative_position_keys": "relative positions",
    "encoder/layer_0/self_attention/rotary_dim": "rotary positions",
    "decoder/layer_0/ffn/linear_0_noact/weight": "gated linear units",
    "encoder/layernorm_embedding/gamma": "a norm of the embeddings",
    "encoder/embeddings_1/weight": "several sources or factors",
    "decoder/project_in/weight": "projections of the embeddings",
    "decoder/alibi": "ALiBi",
    "encoder/multi_query_attention": "multi-query attention",
    "decoder/layer_0/self_attention/q_norm/gamma": "norms of queries and keys",
    "decoder/final_logit_softcapping": "capped logits",
    "decoder/invented/weight": "has tensors that .*: decoder/invented/weight",
    "decoder/invented": "has settings that .*: decoder/invented",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_that_is_not_the_papers_is_refused_by_name(tmp_path, name):
    scalars = "rotary_dim", "alibi", "final_logit_softcapping", "invented", "multi_query_attention"
    scalar = name.split("/")[-1] in scalars
    value = np.int8(1) if scalar else np.ones((2, 2), "float32")
    folder = write_folder(tmp_path / "model", random_model() | {name: value})
    with pytest.raises(ValueError, match=FOREIGN[name]):
        read(folder)


def test_settings_that_are_off_are_accepted(tmp_path):
    off = {"decoder/alibi": np.int8(0), "decoder/layer_0/self_attention/rotary_dim": np.int8(-1)}
    read(write_folder(tmp_path / "off", random_model() | off))
    name = "decoder/layer_0/self_attention/rotary_dim"  # 0 stands for all dimensions
    folder = write_folder(tmp_path / "on", random_model() | {name: np.int8(0)})
    with pytest.raises(ValueError, match="rotary positions"):
        read(folder)


def without(name):
    return {key: value for key, value in random_model().items() if key != name}


def text(value):
    """Returns a string as model files contain it."""
    return np.frombuffer(value.encode(errors="surrogateescape"), "int8")


ENCODINGS, LENGTHS = "{}/position_encodings/encodings", {"encoder": 9, "decoder": 8}
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
        (
            random_model()
            | {ENCODINGS.format(s): np.zeros((n, 16), "f4") for s, n in LENGTHS.items()},
            r"equally many positions in .* Received the shapes: \(9, 16\) and \(8, 16\)",
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
        ("source_vocabulary.txt", "<blank>\n<s>\n</s>\n" + "a\n" * 7, "a token occurs twice"),
        ("target_vocabulary.txt", "a\nb\nc\nd\ne\nf\ng\nh\n", "the end, '</s>', is not in"),
        ("target_vocabulary.json", "[1, 2]", "must be a list of strings"),
        ("target_vocabulary.json", "{", "is not a JSON file"),
        ("config.json", "[]", "config.json must hold a JSON object"),
        ("config.json", '{"decoder_start_token": "de"}', "starts from 'de', which is not in"),
        ("config.json", '{"decoder_start_token": null}', "decoder_start_token=null"),
        (
            "config.json",
            '{"add_source_bos": 1, "bos_token": "x", "decoder_start_token": "a"}',
            "'x'",
        ),
        ("config.json", '{"unk_token": ["a"]}', "unk_token must be a string"),
        ("source.spm", "damaged", "source.spm is not a SentencePiece model"),
        ("config.json", '{"add_source_eos": "no"}', "add_source_eos must be true or false"),
        ("config.json", '{"quantization_type": 1}', "quantization_type=1.*without --quantization"),
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
