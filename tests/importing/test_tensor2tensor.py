"""A checkpoint of tensor2tensor becomes the paper's model with the same weights."""

import json

import numpy as np
import pytest
from support.importing.imported_model import changed, check_model, model_of, without
from support.importing.tensor2tensor_folder import (
    BODY,
    CONFIG,
    HPARAMS,
    MODALITY,
    PIECES,
    SCALE,
    SPACES,
    D,
    V,
    arrays,
    in_our_order,
    weights_of,
    write,
)

from t2t_keras.importing.formats import recognized
from t2t_keras.importing.tensor2tensor import read

POST = {"layer_preprocess_sequence": "none", "layer_postprocess_sequence": "dan"}
THREE = ("input_emb", "target_emb", "softmax")
CONVOLUTION = f"{BODY}/encoder/layer_1/ffn/conv1"


def test_a_pre_norm_model_with_a_target_space(tmp_path):
    model = arrays()
    folder = write(tmp_path, model)
    assert recognized(folder) == "tensor2tensor"
    imported = read(folder)
    check_model(imported, weights_of(model), CONFIG)
    model_of(imported)  # our model has these weights
    assert imported.source is imported.target
    assert imported.target.kind == "subwords"
    assert imported.target.pieces == ["<pad>", "<s>", "<EOS>", "<unk>", *PIECES[2:]]
    assert imported.search == {"beam": 4, "alpha": 0.6, "extra_length": 50}
    other = read(folder, target_space=9)
    check_model(other, weights_of(model, space=9), CONFIG)
    assert "target space 9" in other.notes[0]


def test_a_post_norm_model_without_target_spaces(tmp_path):
    model = arrays(pre=False, spaces=False)
    config = {**CONFIG, "pre_norm": False, "source_vocab_size": None}
    check_model(read(write(tmp_path, model, POST)), weights_of(model, pre=False), config)


@pytest.mark.parametrize("matrices", [THREE, ("shared", "shared", "softmax")])
def test_an_output_matrix_is_not_tied(tmp_path, matrices):
    model = arrays(embeddings=dict.fromkeys(matrices))
    imported = read(write(tmp_path, model))
    check_model(imported, weights_of(model, *matrices), CONFIG | {"tie_output": False})


def test_learned_positions_and_unscaled_embeddings(tmp_path):
    model = arrays()
    weights = weights_of(model | {SPACES: model[SPACES] * SCALE})
    for side, name in (("source", "inputs"), ("target", "targets")):
        table = np.full((9, D), len(name), "float32")
        weights[f"{side}_positions/table"] = table
        model[f"{BODY}/{name}_positional_embedding"] = table
    settings = {"pos": "emb", "multiply_embedding_mode": "none"}
    learned = {"positions": "learned", "max_length": 9, "embedding_scale": 1.0}
    check_model(read(write(tmp_path, model, settings)), weights, CONFIG | learned)


def test_the_state_of_training_and_the_place_of_names_are_ignored(tmp_path):
    place = "transformer/parallel_0_4/transformer/transformer/body"
    model = {name.replace(BODY, place): array for name, array in arrays().items()}
    one = np.ones(1)
    for slot in ("Adam", "Adam_1"):
        model[f"{place}/encoder/layer_1/ffn/conv1/bias/{slot}"] = one
    for name in ("training/beta1_power", "losses_avg/problem_0/total_loss", "train_stats/steps"):
        model[name] = one
    check_model(read(write(tmp_path, model)), weights_of(arrays()), CONFIG)


def test_convolutions_over_one_position_are_dense_layers(tmp_path):
    model = {}
    for name, array in arrays().items():
        is_kernel = "/ffn/conv" in name and array.ndim == 2
        name = name.replace("/ffn/conv", "/ffn/conv_hidden_relu/conv")
        model[name] = array[None, None] if is_kernel else array
    imported = read(write(tmp_path, model, {"ffn_layer": "conv_hidden_relu"}))
    check_model(imported, weights_of(arrays()), CONFIG)


def test_flags_name_a_set_of_hparams_and_changes_to_it(tmp_path):
    folder = write(tmp_path, arrays())
    (folder / "hparams.json").unlink()
    flags = folder / "flags.txt"
    flags.write_text("--model=transformer\n--hparams_set=transformer_test\n--hparams=\n")
    assert read(folder).config.num_heads == 2
    flags.write_text("--hparams_set=transformer_mine\n--hparams=num_heads=1,attention_dropout=0.2")
    config = read(folder).config
    assert (config.num_heads, config.attention_dropout, config.pre_norm) == (1, 0.2, True)
    for text, message in {
        "--hparams_set=transformer_mine\n": "hparams_set=transformer_mine, which is not known",
        "--hparams=num_heads=1,proximity_bias=true\n": "has proximity_bias=True",
        "--model=evolved_transformer\n": "model=evolved_transformer",
        "": r"neither hparams\.json nor flags\.txt",
    }.items():
        flags.write_text(text)
        with pytest.raises(ValueError, match=message):
            read(folder)


def test_rows_that_fill_up_the_vocabulary_have_empty_pieces(tmp_path):
    folder = write(tmp_path, arrays(), {"vocab_divisor": 17}, pieces=PIECES[:-1])
    assert read(folder).target.pieces[-2:] == ["9", ""]
    (folder / "hparams.json").write_text(json.dumps(HPARAMS))
    with pytest.raises(ValueError, match=r"with 17 pieces.*ende\.17\.subwords \(16\)"):
        read(folder)


def test_each_language_may_have_its_own_vocabulary(tmp_path):
    folder = write(tmp_path, arrays(embeddings=THREE))
    (file,) = folder.glob("*.subwords")
    other = [*PIECES[:-1], "der_"]
    (folder / "vocab.target.subwords").write_text("".join(f'"{piece}"\n' for piece in other))
    with pytest.raises(ValueError, match=r"vocab\.source\.subwords"):
        read(folder)
    file.rename(folder / "vocab.source.subwords")
    imported = read(folder)
    assert imported.source.pieces[-1] == "the_" and imported.target.pieces[-1] == "der_"


@pytest.mark.parametrize("output", [None, "softmax"])
def test_two_vocabularies_of_different_sizes_have_a_matrix_shared_each(tmp_path, output):
    model = arrays(embeddings=filter(None, ("shared", output)), spaces=False)
    source = np.arange(16 * D, dtype="float32").reshape(16, D)
    model[f"transformer/symbol_modality_16_{D}/shared/weights_0"] = source
    folder = write(tmp_path, model)
    with pytest.raises(ValueError, match=r"two are `shared`, give the sub-word files"):
        read(folder)
    (file,) = folder.glob("*.subwords")
    lines = file.read_text().splitlines(keepends=True)
    (folder / "vocab.source.subwords").write_text("".join(lines[:-1]))
    file.rename(folder / "vocab.target.subwords")
    imported = read(folder)
    weights = weights_of(model, output=output)
    weights["source_embedding/matrix"] = in_our_order(source)
    check_model(imported, weights, CONFIG | {"source_vocab_size": 18, "tie_output": not output})
    assert (len(imported.source.pieces), len(imported.target.pieces)) == (18, V + 2)


MODEL = arrays()
SINGLE = [  # settings with one or few values in the paper's model
    *("self_attention_type", "ffn_layer", "norm_type", "pos", "multiply_embedding_mode"),
    *("prepend_mode", "proximity_bias", "unidirectional_encoder", "symbol_modality_skip_top"),
    *("factored_logits", "hard_attention_k"),
]
SHARED = f"{MODALITY}/shared/weights_3"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"hparams": {name: "other"}}, f"{name}='other'. Models") for name in SINGLE),
        ({"hparams": {"layer_preprocess_sequence": "none"}}, "must be 'n' and 'da'"),
        ({"hparams": POST}, "must be 'n' and 'da'"),
        ({"hparams": {"num_heads": 2.0}}, r"a divisor of .*, 6 and 10\. .*num_heads=2\.0"),
        (changed(MODEL, f"{BODY}/inputs_positional_embedding", 9, D), "same number .* 9 and 0"),
        (without(MODEL, SHARED), "no tensor .*shared/weights_3"),
        (changed(MODEL, f"{MODALITY}/softmax/weights_0", 1, D), r"softmax .* shape \(17, 8\)"),
        (changed(MODEL, f"other/{CONVOLUTION}/bias", 12), "occurs twice in .*, in several"),
    ],
)
def test_other_models_are_refused_by_the_name_of_what_is_wrong(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, **({"model": MODEL} | changes)))


def test_a_target_space_that_the_model_does_not_have_is_refused(tmp_path):
    for spaces, target_space, message in (
        (True, -1, "`target_space` must be at least 0 and below 32"),
        (True, 32, "`target_space` must be at least 0 and below 32"),
        (False, 1, "has no target spaces"),
    ):
        with pytest.raises(ValueError, match=message):
            read(write(tmp_path, arrays(spaces=spaces)), target_space=target_space)
