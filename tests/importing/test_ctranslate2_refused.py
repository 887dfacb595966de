"""Models of CTranslate2 that are not the paper's, or not whole, are refused by name."""

import numpy as np
import pytest
from support.importing.ctranslate2_folder import random_model, write_folder

from t2t_keras.importing.ctranslate2 import read


def text(value):
    """Returns a string as model files contain it."""
    return np.frombuffer(value.encode(errors="surrogateescape"), "int8")


def zeros(*shape):
    return np.zeros(shape, "float32")


ON = np.int8(1)  # a flag of the file that is set
ALL = np.int8(0)  # as rotary_dim: all dimensions
SELF_ATTENTION = "decoder/layer_0/self_attention"
LAYER = "encoder/layer_0"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        # not the paper's model
        (
            {f"{SELF_ATTENTION}/relative_position_keys": zeros(2, 2)},
            "self_attention/relative_position_keys",
        ),
        ({f"{SELF_ATTENTION}/rotary_dim": ALL}, "has settings .*: decoder.*/rotary_dim"),
        ({"encoder/multi_query_attention": ON}, "encoder/multi_query_attention"),
        # not whole
        ({f"{LAYER}/ffn/linear_0/weight_scale": zeros(5)}, r"and its scale \(5,\)"),
        ({"activation": np.int8(5)}, "has activation=5"),
        ({"num_heads": np.float32("nan")}, "must be a finite number.* nan"),
        ({"encoder/num_heads": np.int8(4)}, "must have the same num_heads. Received: 4 and 8"),
        ({f"{LAYER}/self_attention/queries_scale": np.int8(0)}, "queries_scale must be positive"),
    ],
)
def test_other_models_are_refused_by_the_name_of_what_is_wrong(tmp_path, changes, message):
    changed = random_model() | changes
    changed = {name: value for name, value in changed.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        read(write_folder(tmp_path / "model", changed))


def test_settings_that_are_off_are_accepted(tmp_path):
    off = {"decoder/alibi": np.int8(0), f"{SELF_ATTENTION}/rotary_dim": np.int8(-1)}
    read(write_folder(tmp_path / "off", random_model() | off))


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("source_vocabulary.txt", None, "has no vocabulary of the source"),
        (
            "source_vocabulary.txt",
            "a\nb\n",
            "has 2 different tokens, but the matrix of the source 11",
        ),
        (
            "source_vocabulary.txt",
            "<blank>\n<s>\n</s>\n" + "a\n" * 7,
            "has 5 different tokens, but",
        ),
        ("target_vocabulary.txt", "a\nb\nc\nd\ne\nf\ng\nh\n", "the end, '</s>', is not in"),
        ("target_vocabulary.json", "[1, 2]", "must be a list of strings"),
        ("config.json", '{"decoder_start_token": "de"}', "starts from 'de', which is not in"),
        (
            "config.json",
            '{"add_source_bos": 1, "bos_token": "x", "decoder_start_token": "a"}',
            "the source begins with 'x', which is not in the vocab",
        ),
        ("config.json", '{"add_source_eos": "no"}', "has add_source_eos='no'"),
        ("config.json", '{"quantization_type": 1}', "quantization_type=1.*without --quantization"),
        ("source.spm", "damaged", "source.spm is not a whole SentencePiece model"),
    ],
)
def test_files_beside_the_model_are_checked(tmp_path, name, contents, message):
    folder = write_folder(tmp_path / "model")
    (folder / name).unlink(missing_ok=True)
    if contents is not None:
        (folder / name).write_text(contents)
    with pytest.raises(ValueError, match=message):
        read(folder)


@pytest.mark.parametrize("changes", [{"spec": "WhisperSpec"}, {"revision": 8}, {"revision": 1}])
def test_a_different_kind_of_model_is_refused(tmp_path, changes):
    with pytest.raises(ValueError, match=r"and not a Transformer .* of revisions 2 to 7"):
        read(write_folder(tmp_path / "model", **changes))
