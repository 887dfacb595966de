"""A checkpoint of tensor2tensor has the logits that its arrays give with the paper's formulas."""

import json

import numpy as np
import pytest
from support.importing.imported_logits import check_logits
from support.importing.tensor2tensor_folder import (
    FFN,
    HPARAMS,
    MODALITY,
    PIECES,
    SCALE,
    SPACES,
    D,
    V,
    arrays,
    write,
)

from t2t_keras.importing.tensor2tensor import is_format, read

POST = {"layer_preprocess_sequence": "none", "layer_postprocess_sequence": "dan"}
# Their ids 0 and 1 are padding and end. Ours: padding, begin, end, unknown.
CONFIG = {
    **{"vocab_size": V + 2, "num_layers": 2, "decoder_layers": 1, "d_model": D, "d_ff": FFN},
    **{"num_heads": 2, "d_k": 3, "d_v": 5, "positions": "concatenated", "pre_norm": True},
    **{"output_bias": True, "source_vocab_size": V + 2},
}


def matrix(model, part):
    """Returns an embedding matrix in our order of ids: padding, begin, end, unknown, the others."""
    theirs = np.concatenate([model[f"{MODALITY}/{part}/weights_{i}"] for i in range(12)])
    zero = np.zeros(D)
    return np.stack([theirs[0], zero, theirs[1], zero, *theirs[2:]])


def reference_weights(model, source="shared", target="shared", output=None, pre=True, space=0):
    """Returns the reference's weights, in which begin and unknown are added."""
    bias = np.zeros(V + 2)
    bias[[0, 1, 3]] = -1e4
    weights = {"embedding/matrix": matrix(model, target), "embedding/bias": bias}
    source = matrix(model, source)
    if SPACES in model:
        source = source + model[SPACES][space] / SCALE
        source[0] = 7.0  # padding is masked, so its row does not matter
        source[3] = 0.0  # they have no unknown token
    weights["source_embedding/matrix"] = source
    if output is not None:
        weights["output_embedding/matrix"] = matrix(model, output)
        weights["output_embedding/bias"] = weights.pop("embedding/bias")
    names = {"q": "query", "k": "key", "v": "value", "output_transform": "output"}
    kinds = {"self_attention": "self_attention", "encdec_attention": "cross_attention"}
    place = "layer_prepostprocess" if pre else "layer_postprocess"

    def norm(ours, theirs):
        weights[f"{ours}/gamma"] = model[f"{theirs}/layer_norm/layer_norm_scale"]
        weights[f"{ours}/beta"] = model[f"{theirs}/layer_norm/layer_norm_bias"]

    for stack, layers in (("encoder", 2), ("decoder", 1)):
        for layer in range(layers):
            theirs = f"transformer/body/{stack}/layer_{layer}"
            block = f"{stack}/block_{layer}"
            for kind, sublayer in list(kinds.items())[: 1 if stack == "encoder" else 2]:
                for name, part in names.items():
                    kernel = model[f"{theirs}/{kind}/multihead_attention/{name}/kernel"]
                    weights[f"{block}/{sublayer}/attention/{part}/kernel"] = kernel
                norm(f"{block}/{sublayer}/norm", f"{theirs}/{kind}/{place}")
            for conv, part in (("conv1", "inner"), ("conv2", "outer")):
                for kind in ("kernel", "bias"):
                    array = model[f"{theirs}/ffn/{conv}/{kind}"]
                    weights[f"{block}/feed_forward/network/{part}/{kind}"] = array
            norm(f"{block}/feed_forward/norm", f"{theirs}/ffn/{place}")
        if pre:
            norm(f"{stack}/norm", f"transformer/body/{stack}/layer_prepostprocess")
    return weights


def test_logits_of_a_pre_norm_model_with_a_target_space(tmp_path):
    model = arrays()
    folder = write(tmp_path, model)
    assert is_format(folder)
    imported = read(folder)
    check_logits(imported, reference_weights(model), CONFIG)
    assert imported.source is imported.target
    assert imported.target.kind == "subwords"
    assert imported.target.pieces == ["<pad>", "<s>", "<EOS>", "<unk>", *PIECES[2:]]
    assert imported.search == {"beam": 4, "alpha": 0.6, "extra_length": 50}


def test_logits_of_a_post_norm_model_without_target_spaces(tmp_path):
    model = arrays(pre=False, spaces=False)
    imported = read(write(tmp_path, model, POST))
    weights = reference_weights(model, pre=False)
    del weights["source_embedding/matrix"]
    check_logits(imported, weights, {**CONFIG, "pre_norm": False, "source_vocab_size": None})


def test_another_target_space_gives_other_source_vectors(tmp_path):
    model = arrays()
    imported = read(write(tmp_path, model), target_space=9)
    check_logits(imported, reference_weights(model, space=9), CONFIG)
    assert "target space 9" in imported.notes[0]


def test_logits_with_three_matrices(tmp_path):
    parts = ("input_emb", "target_emb", "softmax")
    model = arrays(embeddings=parts)
    imported = read(write(tmp_path, model))
    check_logits(imported, reference_weights(model, *parts), CONFIG | {"tie_output": False})


def test_logits_with_an_output_matrix_of_its_own(tmp_path):
    model = arrays(embeddings=("shared", "softmax"))
    imported = read(write(tmp_path, model))
    weights = reference_weights(model, output="softmax")
    check_logits(imported, weights, CONFIG | {"tie_output": False})


def test_heads_on_an_axis_of_their_own_are_the_same(tmp_path):
    hparams = dict(HPARAMS)
    del hparams["num_heads"]
    model = arrays(heads_apart=True)
    folder = write(tmp_path, model)
    (folder / "hparams.json").write_text(json.dumps(hparams))
    imported = read(folder)
    flat = {
        name.replace("/o", "/output_transform") + "/kernel": (
            array.reshape(10, D) if name.endswith("/o") else array.reshape(D, -1)
        )
        for name, array in model.items()
        if array.ndim == 3
    }
    check_logits(imported, reference_weights(model | flat), CONFIG)


def test_logits_with_learned_positions_and_unscaled_embeddings(tmp_path):
    model, random = arrays(), np.random.default_rng(4)
    tables = {}
    for side, name in (("source", "inputs"), ("target", "targets")):
        table = random.normal(size=(9, D)).astype("float32")
        tables[f"{side}_positions/table"] = table
        model[f"transformer/body/{name}_positional_embedding"] = table
    imported = read(write(tmp_path, model, {"pos": "emb", "multiply_embedding_mode": "none"}))
    weights = reference_weights(model | {SPACES: model[SPACES] * SCALE}) | tables
    learned = {"positions": "learned", "max_length": 9, "embedding_scale": 1.0}
    check_logits(imported, weights, CONFIG | learned)


def test_the_state_of_training_and_the_place_of_names_are_ignored(tmp_path):
    model = arrays(body="transformer/parallel_0_4/transformer/transformer/body")
    kernel = next(name for name in model if name.endswith("conv1/kernel"))
    model[f"{kernel}/Adam"] = model[f"{kernel}/Adam_1"] = model[kernel]
    model[f"training/{kernel}/Adam"] = model["training/beta1_power"] = model[kernel]
    model["losses_avg/problem_0/total_loss"] = model["train_stats/problem_0_steps"] = np.int32(1)
    imported = read(write(tmp_path, model))
    np.testing.assert_array_equal(
        imported.weights["encoder/block_0/feed_forward/network/inner/kernel"].read(), model[kernel]
    )


def test_convolutions_over_one_position_are_dense_layers(tmp_path):
    model = {}
    for name, array in arrays().items():
        convolution = "/ffn/conv" in name
        name = name.replace("/ffn/conv", "/ffn/conv_hidden_relu/conv") if convolution else name
        model[name] = array[None, None] if convolution and array.ndim == 2 else array
    imported = read(write(tmp_path, model, {"ffn_layer": "conv_hidden_relu"}))
    check_logits(imported, reference_weights(arrays()), CONFIG)


def test_flags_name_a_set_of_hparams_and_changes_to_it(tmp_path):
    folder = write(tmp_path, arrays())
    (folder / "hparams.json").unlink()
    flags = folder / "flags.txt"
    flags.write_text("--model=transformer\n--hparams_set=transformer_test\n--hparams=\n")
    assert read(folder).config.num_heads == 2
    flags.write_text("--hparams_set=transformer_mine\n--hparams=num_heads=1,attention_dropout=0.2")
    config = read(folder).config
    assert (config.num_heads, config.attention_dropout, config.pre_norm) == (1, 0.2, True)
    flags.write_text("--hparams_set=transformer_mine\n")
    with pytest.raises(ValueError, match="hparams_set=transformer_mine, which is not known"):
        read(folder)
    flags.write_text("--model=evolved_transformer\n")
    with pytest.raises(ValueError, match="model=evolved_transformer"):
        read(folder)
    flags.unlink()
    with pytest.raises(ValueError, match=r"neither hparams\.json nor flags\.txt"):
        read(folder)


def test_the_file_checkpoint_names_one_of_several(tmp_path):
    model = arrays()
    write(tmp_path, model, step=7)
    model[SPACES] = model[SPACES] + 1
    folder = write(tmp_path, model, step=8)
    with pytest.raises(ValueError, match=r"model\.ckpt-7\.index, model\.ckpt-8\.index"):
        read(folder)
    (folder / "checkpoint").write_text('model_checkpoint_path: "/tmp/train/model.ckpt-8"\n')
    check_logits(read(folder), reference_weights(model), CONFIG)


def test_rows_that_fill_up_the_vocabulary_have_empty_pieces(tmp_path):
    folder = write(tmp_path, arrays(), {"vocab_divisor": 17}, pieces=PIECES[:-1])
    assert read(folder).target.pieces[-2:] == ["9", ""]
    (folder / "hparams.json").write_text(json.dumps(HPARAMS))
    with pytest.raises(ValueError, match=r"with 17 pieces.*ende\.17\.subwords \(16\)"):
        read(folder)


def test_each_language_may_have_its_own_vocabulary(tmp_path):
    folder = write(tmp_path, arrays(embeddings=("input_emb", "target_emb", "softmax")))
    (file,) = folder.glob("*.subwords")
    other = [*PIECES[:-1], "der_"]
    (folder / "vocab.target.subwords").write_text("".join(f'"{piece}"\n' for piece in other))
    with pytest.raises(ValueError, match=r"vocab\.source\.subwords"):
        read(folder)
    file.rename(folder / "vocab.source.subwords")
    imported = read(folder)
    assert imported.source.pieces[-1] == "the_" and imported.target.pieces[-1] == "der_"


@pytest.mark.parametrize("output", ["shared", "softmax"])
def test_two_vocabularies_of_different_sizes_have_a_matrix_shared_each(tmp_path, output):
    parts = ("shared",) if output == "shared" else ("shared", "softmax")
    model = arrays(embeddings=parts, spaces=False)
    source = np.random.default_rng(2).normal(0, 0.5, (16, D)).astype("float32")
    model[f"transformer/symbol_modality_16_{D}/shared/weights_0"] = source
    folder = write(tmp_path, model)
    with pytest.raises(ValueError, match=r"which is whose: .* Give the sub-word files"):
        read(folder)
    (file,) = folder.glob("*.subwords")
    file.rename(folder / "vocab.target.subwords")
    lines = (folder / "vocab.target.subwords").read_text().splitlines(keepends=True)
    (folder / "vocab.source.subwords").write_text("".join(lines[:-1]))
    imported = read(folder)
    weights = reference_weights(model, output=None if output == "shared" else output)
    zero = np.zeros(D)
    matrix = np.stack([source[0], zero, source[1], zero, *source[2:]])
    weights["source_embedding/matrix"] = matrix
    config = CONFIG | {"source_vocab_size": 18, "tie_output": output == "shared"}
    check_logits(imported, weights, config)
    assert (len(imported.source.pieces), len(imported.target.pieces)) == (18, V + 2)


REFUSED_HPARAMS = [
    ({"self_attention_type": "dot_product_relative"}, "self_attention_type='dot_product_relative'"),
    ({"ffn_layer": "sepconv"}, "ffn_layer='sepconv'"),
    ({"norm_type": "noam"}, "norm_type='noam'"),
    ({"pos": "none"}, "pos='none'"),
    ({"prepend_mode": "prepend_inputs_full_attention"}, "prepend_mode"),
    ({"proximity_bias": True}, "proximity_bias=True"),
    ({"symbol_modality_skip_top": True}, "symbol_modality_skip_top=True"),
    ({"layer_preprocess_sequence": "none"}, "must be 'n' and 'da'"),
    ({"layer_postprocess_sequence": "dan"}, "must be 'n' and 'da'"),
    (POST, "must be 'n' and 'da'"),
    ({"num_encoder_layers": 1}, "the encoder has 2 layers"),
    ({"num_decoder_layers": 0}, "the decoder has 1 layers"),
    ({"num_heads": 4}, "4 heads cannot share attention of width 6 and 10"),
    ({"num_heads": "2"}, "num_heads must be a whole number"),
    ({"vocab_divisor": 0}, "vocab_divisor"),
    ({"norm_epsilon": -1}, "norm_epsilon"),
]


@pytest.mark.parametrize(("hparams", "message"), REFUSED_HPARAMS)
def test_other_models_are_refused_by_the_name_of_the_setting(tmp_path, hparams, message):
    folder = write(tmp_path, arrays(), hparams)
    with pytest.raises(ValueError, match=message):
        read(folder)


BODY = "transformer/body"
BIAS = f"{BODY}/encoder/layer_1/ffn/conv1/bias"
REFUSED_ARRAYS = [
    (BIAS, None, "no tensor encoder/layer_1/ffn/conv1/bias"),
    (BIAS, np.zeros(11, "float32"), r"must have the shape \(12\)"),
    (f"{MODALITY}/shared/weights_3", None, "no tensor .*shared/weights_3"),
    (f"{MODALITY}/shared/weights_3", np.zeros((1, 9), "float32"), "weights_3 must have the shape"),
    (
        f"{MODALITY}/softmax/weights_0",
        np.zeros((1, D), "float32"),
        r"softmax must have the shape \(17, 8\)",
    ),
    (f"{MODALITY}/input_emb/weights_0", np.zeros((1, D), "float32"), "must have embeddings"),
    ("transformer/symbol_modality_9_8/shared/weights_0", np.zeros((9, D)), "several matrices"),
    (
        f"other/{BODY}/encoder/layer_1/ffn/conv1/bias",
        np.zeros(12),
        "occurs twice in .*, in several",
    ),
    (f"{BODY}/encoder/layer_1/adapter/kernel", np.zeros(1), "does not have"),
    ("_CHECKPOINTABLE_OBJECT_GRAPH", np.array(b"graph"), "of TensorFlow 2"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED_ARRAYS)
def test_missing_and_unknown_tensors_are_refused_by_name(tmp_path, name, value, message):
    model = {key: array for key, array in arrays().items() if key != name}
    if value is not None:
        model[name] = value
    folder = write(tmp_path, model)
    with pytest.raises(ValueError, match=message):
        read(folder)


@pytest.mark.parametrize("target_space", [-1, 32])
def test_a_target_space_outside_the_table_is_refused(tmp_path, target_space):
    folder = write(tmp_path, arrays())
    with pytest.raises(ValueError, match="`target_space` must be at least 0 and below 32"):
        read(folder, target_space=target_space)


def test_a_target_space_is_refused_where_there_is_none(tmp_path):
    folder = write(tmp_path, arrays(spaces=False))
    with pytest.raises(ValueError, match="has no target spaces"):
        read(folder, target_space=1)


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
def test_a_truncated_checkpoint_is_refused(tmp_path, suffix):
    folder = write(tmp_path, arrays())
    path = folder / f"model.ckpt-7{suffix}"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="is not a whole checkpoint of TensorFlow"):
        read(folder).weights["decoder/block_0/feed_forward/network/outer/bias"].read()
