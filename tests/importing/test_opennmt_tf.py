"""A checkpoint of OpenNMT-tf 2 becomes the paper's model with the same weights."""

import pytest
from support.importing.imported_model import changed, check_model, model_of
from support.importing.opennmt_tf_folder import (
    CONFIG,
    OUTPUT,
    TABLES,
    TOKENS,
    V,
    arrays,
    weights_of,
    write,
)

from t2t_keras.importing.formats import recognized
from t2t_keras.importing.opennmt_tf import read

OTHERS = ["<blank>", "<s>", "</s>", *"uvwxyz"]


@pytest.mark.parametrize("tied", [False, True])
def test_two_vocabularies(tmp_path, tied):
    rows = len(OTHERS) + 1
    model = arrays(target=rows, tied=tied)
    imported = read(write(tmp_path, model, src_vocab=TOKENS, tgt_vocab=OTHERS))
    sizes = {"source_vocab_size": V, "vocab_size": rows, "tie_output": tied}
    check_model(imported, weights_of(model), CONFIG | sizes)
    assert imported.source.pieces == [*TOKENS[:3], "<unk>", *TOKENS[3:]]
    assert imported.target.pieces == [*OTHERS[:3], "<unk>", *OTHERS[3:]]
    assert imported.source.kind == imported.target.kind == "tokens"


@pytest.mark.parametrize("tied", [False, True])
def test_one_matrix_and_vocabulary(tmp_path, tied):
    model = arrays(tied=tied)
    folder = write(tmp_path, model)
    assert recognized(folder) == "opennmt_tf"
    imported = read(folder)
    check_model(imported, weights_of(model), CONFIG | {"tie_output": tied})
    assert imported.source is imported.target
    assert imported.search == {"alpha": 0.0}
    assert "the source has no <s> and no </s>" in imported.notes[0]


def test_a_post_norm_model_with_an_end_after_the_source(tmp_path):
    model = arrays(tied=True, pre=False)
    del model[f"{OUTPUT}/bias"]
    imported = read(write(tmp_path, model), source_end=True)
    settings = {"pre_norm": False, "source_end": True}
    check_model(imported, weights_of(model, pre=False), CONFIG | settings)
    model_of(imported)  # our model has these weights
    assert imported.notes == []


def test_attention_without_biases_and_another_activation(tmp_path):
    model = arrays(target=V, bias=False)
    description = "model = Transformer(num_heads=2, ffn_activation=opennmt.layers.gelu)"
    imported = read(write(tmp_path, model, description=description))
    settings = {"attention_bias": False, "activation": "gelu_tanh", "source_vocab_size": V}
    settings["tie_output"] = False
    check_model(imported, weights_of(model, bias=False), CONFIG | settings)


def test_the_first_row_of_a_table_of_positions_is_not_used(tmp_path):
    model = arrays(tied=True, positions=10)
    description = "num_heads=2, position_encoder_class=lambda: layers.PositionEmbedder()"
    weights = weights_of(model)
    weights |= {f"{side}_positions/table": model[table][1:] for side, table in TABLES.items()}
    settings = {"positions": "learned", "max_length": 9, "position_offset": 0}
    check_model(read(write(tmp_path, model, description=description)), weights, CONFIG | settings)


def test_a_source_with_begin_has_a_tokenizer_of_its_own(tmp_path):
    model = arrays(tied=True)
    folder = write(tmp_path, model)
    imported = read(folder, source_begin=True)
    assert (imported.source.begin, imported.target.begin) == (True, False)
    assert not imported.config.source_end and imported.notes == []
    check_model(imported, weights_of(model), CONFIG)
    for name in ("source_begin", "source_end"):
        with pytest.raises(ValueError, match=f"`{name}` must be True or False"):
            read(folder, **{name: "no"})


CATALOG = 'from opennmt import models\nmodel = lambda: models.get_model_from_catalog("{}")\n'


@pytest.mark.parametrize(
    ("description", "given", "heads"),
    [
        (CATALOG.format("TransformerBase"), None, 8),
        ("Transformer(num_heads = 4,  # num_heads=2\n)", None, 4),
        ("num_heads=2", 2, 2),
        ("num_heads=2, position_encoder_class=layers.SinusoidalPositionEncoder", None, 2),
        (None, 1, 1),
    ],
)
def test_heads_are_those_of_the_description_or_given(tmp_path, description, given, heads):
    imported = read(write(tmp_path, arrays(), description=description), num_heads=given)
    assert imported.config.num_heads == heads
    notes = ["no model_description.py: the activation is taken to be ReLU"]
    assert imported.notes[:-1] == ([] if description else notes)


@pytest.mark.parametrize(
    ("description", "given", "message"),
    [
        (None, None, "Give it with --num_heads"),
        (CATALOG.format("TransformerRelative"), None, "Give it with --num_heads"),
        ("Transformer(source, target, 6, 512, 8, 2048)", None, "Give it with --num_heads"),
        (CATALOG.format("TransformerBig"), None, "divisor of the widths .*, 8 and 8.*num_heads=16"),
        ("num_heads=0", None, "Received: num_heads=0"),
        ("num_heads=2", 4, "says that the model has 2 heads. Received: num_heads=4"),
        (
            "num_heads=2, ffn_activation=tf.nn.elu",
            None,
            "has ffn_activation=.tf.nn.elu.. Models are",
        ),
        ("num_heads=2, position_encoder_class=None", None, "has position_encoder_class=None, and"),
    ],
)
def test_heads_and_activations_that_are_unclear_are_refused(tmp_path, description, given, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, arrays(), description=description), num_heads=given)


def test_an_unknown_token_in_the_vocabulary_is_not_the_last_row(tmp_path):
    folder = write(tmp_path, arrays(), vocab=[*TOKENS[:-1], "<unk>"])
    assert read(folder).target.pieces == [*TOKENS[:3], "<<unk>>", *TOKENS[3:-1], "<unk>"]


MODEL = arrays()
ATTENTION = "model/decoder/layers/0/self_attention/layer"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab": TOKENS[:-1]}, r"vocab\.txt must have 10 different tokens.* Received: 9"),
        (
            {"vocab": TOKENS[1:]},
            "must begin with the lines <blank>, <s>, </s>.*Received: <s>, </s>",
        ),
        ({"vocab": [*TOKENS[:-1], "a"]}, r"vocab\.txt must have 10 different tokens.* Received: 9"),
        (changed(MODEL, f"{ATTENTION}/relative_position_keys", 41, 4), "relative_position_keys"),
    ],
)
def test_other_models_are_refused_by_the_name_of_what_is_wrong(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, **({"model": MODEL} | changes)))
