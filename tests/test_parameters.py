"""Counts of weights and of multiplications."""

import dataclasses

import keras
import pytest
from support.models.helpers import TINY
from support.models.rival_models import RIVALS

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.config_files import find_config, load_config_file
from t2t_keras.experiment import load_experiment
from t2t_keras.parameters import grouped_counts, parameter_counts, training_operations

TABLE3 = load_config_file(find_config("table3"))


def expected_count(c):
    """Computes the number of weights from the widths; `c` has only the paper's own options."""
    d_k, d_v = c.d_k or c.d_model // c.num_heads, c.d_v or c.d_model // c.num_heads
    attention = c.d_model * c.num_heads * (d_k + d_k + d_v) + c.num_heads * d_v * c.d_model
    feed_forward = c.d_model * c.d_ff + c.d_ff + c.d_ff * c.d_model + c.d_model
    norm = 2 * c.d_model
    encoder_block = attention + feed_forward + 2 * norm
    decoder_block = 2 * attention + feed_forward + 3 * norm
    positions = 2 * c.max_length * c.d_model if c.positions == "learned" else 0
    return c.vocab_size * c.d_model + c.num_layers * (encoder_block + decoder_block) + positions


def test_the_count_equals_the_formula():
    models = [TABLE3.get_config(row).model for row in ("base", "B_dk16", "E_learned")]
    for config in (*models, load_experiment("parsing:semi_supervised").model):
        assert sum(parameter_counts(config).values()) == expected_count(config)
    assert sum(parameter_counts(TransformerConfig()).values()) == 63_045_632


@pytest.mark.parametrize("vocab_size", [41_004, 41_208])
def test_every_printed_count_except_that_of_big_implies_this_vocabulary(vocab_size):
    for row in set(TABLE3.PRINTED_MILLIONS) - {"big"}:
        config = TABLE3.get_config(row).model
        config.vocab_size = vocab_size
        assert round(expected_count(config) / 1e6) == TABLE3.PRINTED_MILLIONS[row], row


def test_gnmt_has_the_printed_count():
    """Shazeer et al. 2017, Table 2: 278 million."""
    assert abs(sum(parameter_counts(load_experiment("gnmt").model).values()) / 278e6 - 1) < 0.01


def test_rivals_for_multi30k_have_about_the_weights_of_the_transformer():
    transformer = sum(parameter_counts(load_experiment("multi30k").model).values())
    for name in ("gnmt", "convs2s", "bytenet"):
        rival = load_experiment(f"{name}:multi30k")
        rival.validate()
        assert abs(sum(parameter_counts(rival.model).values()) / transformer - 1) < 0.05, name


def test_counts_equal_those_of_a_created_model():
    options = {"source_vocab_size": 30, "output_bias": True, "attention_bias": True}
    config = TransformerConfig(**TINY, pre_norm=True, positions="learned", **options)
    counts = parameter_counts(config)
    assert sum(counts.values()) == Transformer(config).count_params()
    groups = grouped_counts(counts)
    assert sum(groups.values()) == sum(counts.values())
    assert groups["embedding"] == 50 * 16 + 50
    assert groups["source_embedding"] == 30 * 16
    assert groups["encoder norms"] == 2 * 2 * 32 + 32
    assert groups["decoder cross-attention"] == 2 * 4 * (16 * 16 + 16)


def test_counting_leaves_no_weights_for_keras_to_initialize_later():
    assert max(parameter_counts(TransformerConfig(vocab_size=10**12)).values()) == 512 * 10**12
    with keras.StatelessScope():
        pass  # at its end, Keras initializes all weights that are still without values


def test_operations_of_a_transformer_by_hand():
    c = TransformerConfig(100, 2, d_model=8, d_ff=32, num_heads=2, d_k=3, d_v=5, decoder_layers=3)
    attentions, heads = 2 + 2 * 3, 2 * (3 + 5)
    weights = attentions * 2 * 8 * heads + 5 * 2 * 8 * 32 + 100 * 8
    expected = 3 * 2 * 4 * 10 * (weights + attentions * heads * 10)
    assert training_operations(c, 4, 10) == expected
    # Tables of positions are looked up; a separate output matrix is multiplied as a tied one is.
    other = {"positions": "learned", "tie_output": False, "source_vocab_size": 99}
    assert training_operations(dataclasses.replace(c, **other), 4, 10) == expected
    assert training_operations(dataclasses.replace(c, positions="t5"), 4, 10) == expected


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


def test_fast_forward_connections_cost_half_a_product_of_every_layer_below_another():
    plain, config = (RIVALS[name][1] for name in ("gnmt", "gnmt, fast-forward"))
    below = "encoder_0_forward", "encoder_1", "decoder_0", "decoder_1"
    for layer in (*below, "encoder_0_backward", "encoder_2", "decoder_2", "attention/query"):
        for weight in ("kernel", "recurrent_kernel"):
            path, is_read = f"{layer}/lstm/lstm_cell/{weight}", layer in below
            assert config.use_of(path) == (1.5 if is_read and weight == "kernel" else 1)
            assert plain.use_of(path) == 1
