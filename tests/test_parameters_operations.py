import dataclasses

import pytest
from support.models.rival_models import RIVALS

from t2t_keras import TransformerConfig
from t2t_keras.parameters import training_operations


def test_operations_of_a_transformer_by_hand():
    c = TransformerConfig(100, 2, d_model=8, d_ff=32, num_heads=2, d_k=3, d_v=5, decoder_layers=3)
    attentions, heads = 2 + 2 * 3, 2 * (3 + 5)
    weights = attentions * 2 * 8 * heads + 5 * 2 * 8 * 32 + 100 * 8
    expected = 3 * 2 * 4 * 10 * (weights + attentions * heads * 10)
    assert training_operations(c, 4, 10) == expected
    # Tables of positions are looked up; a separate output matrix is multiplied as a tied one is.
    assert training_operations(dataclasses.replace(c, positions="learned"), 4, 10) == expected
    assert training_operations(dataclasses.replace(c, tie_output=False), 4, 10) == expected
    assert training_operations(dataclasses.replace(c, source_vocab_size=99), 4, 10) == expected


def test_restricted_attention_multiplies_fewer_pairs_of_positions():
    full = TransformerConfig(num_layers=1, d_model=8, num_heads=2)
    wide = dataclasses.replace(full, neighbourhood=10, decoder_neighbourhood=99)
    narrow = dataclasses.replace(full, neighbourhood=4, decoder_neighbourhood=3)
    work = [training_operations(model, 1, 10) for model in (full, wide, narrow)]
    assert work[0] == work[1]
    # 10 positions see 6 and 7 others less, with two heads of 4 + 4 columns, in three passes.
    assert work[0] - work[2] == 3 * 2 * 10 * 2 * (4 + 4) * (6 + 7)


def test_operations_of_recurrent_layers_by_hand():
    config = RIVALS["gnmt"][1]  # 3 + 3 layers of 16 units, embeddings of 16, attention of 8
    first, second, others = 4 * 16 * (16 + 16), 4 * 16 * (32 + 16), 4 * 16 * (16 + 16)
    encoder = 2 * first + second + others
    decoder = first + 2 * second
    attention = 16 * 8 + 16 * 8 + 8 + (8 + 16) * 10
    expected = 3 * 2 * 4 * 10 * (encoder + decoder + attention + 50 * 16)
    assert training_operations(config, 4, 10) == expected


def test_a_token_is_multiplied_by_the_chosen_experts_only():
    config = RIVALS["moe"][1]
    more = dataclasses.replace(config, experts=8)
    difference = training_operations(more, 1, 1) - training_operations(config, 1, 1)
    assert difference == 3 * 2 * 2 * 2 * 16 * 4  # only gates and their noise, in two mixtures


@pytest.mark.parametrize("name", RIVALS)
def test_every_model_can_be_counted(name):
    assert training_operations(RIVALS[name][1], 2, 5) > 0


def test_fast_forward_connections_cost_half_a_product_of_every_layer_below_another():
    plain, config = (RIVALS[name][1] for name in ("gnmt", "gnmt, fast-forward"))
    below = "encoder_0_forward", "encoder_1", "decoder_0", "decoder_1"
    for layer in (*below, "encoder_0_backward", "encoder_2", "decoder_2", "attention/query"):
        for weight in ("kernel", "recurrent_kernel"):
            path, is_read = f"{layer}/lstm/lstm_cell/{weight}", layer in below
            assert config.use_of(path) == (1.5 if is_read and weight == "kernel" else 1)
            assert plain.use_of(path) == 1
