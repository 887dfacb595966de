import keras
import pytest
from support.models.helpers import TINY

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.config_files import find_config, load_config_file, shipped_configs
from t2t_keras.experiment import load_experiment
from t2t_keras.parameters import grouped_counts, parameter_counts

TABLE3 = load_config_file(find_config("table3"))

EXPERIMENTS = {f"table3:{row}": TABLE3.get_config(row) for row in TABLE3.MODELS} | {
    name: load_config_file(path).get_config(*variant)
    for name, path, variant in [
        ("base", shipped_configs()["base"], ()),
        ("big", shipped_configs()["big"], ()),
        ("parsing", shipped_configs()["parsing"], ("semi_supervised",)),
    ]
}


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


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_count_equals_the_formula(name):
    config = EXPERIMENTS[name].model
    assert sum(parameter_counts(config).values()) == expected_count(config)


def test_the_base_model_has_63_million_weights():
    assert sum(parameter_counts(TransformerConfig()).values()) == 63_045_632


@pytest.mark.parametrize("row", ["B_dk16", "B_dk32", "C_N2", "C_N4", "C_N8", "C_dff4096"])
def test_differences_to_base_are_the_printed_ones(row):
    """Rows with the d_model of base, so that the vocabulary does not matter."""
    printed = TABLE3.PRINTED_MILLIONS[row] - TABLE3.PRINTED_MILLIONS["base"]
    model = TABLE3.get_config(row).model
    difference = expected_count(model) - expected_count(TransformerConfig())
    assert round(difference / 1e6) == printed


@pytest.mark.parametrize("vocab_size", [41_004, 41_208])
@pytest.mark.parametrize("row", sorted(set(TABLE3.PRINTED_MILLIONS) - {"big"}))
def test_every_printed_count_except_that_of_big_implies_this_vocabulary(row, vocab_size):
    config = TABLE3.get_config(row).model
    config.vocab_size = vocab_size
    assert round(expected_count(config) / 1e6) == TABLE3.PRINTED_MILLIONS[row]


def test_gnmt_has_the_printed_count():
    """Shazeer et al. 2017, Table 2: 278 million."""
    count = sum(parameter_counts(load_experiment("gnmt").model).values())
    assert abs(count / 278e6 - 1) < 0.01


@pytest.mark.parametrize("name", ["gnmt", "convs2s", "bytenet"])
def test_rivals_for_multi30k_have_about_the_weights_of_the_transformer(name):
    rival, transformer = load_experiment(f"{name}:multi30k"), load_experiment("multi30k")
    rival.validate()
    counts = [sum(parameter_counts(each.model).values()) for each in (rival, transformer)]
    assert abs(counts[0] / counts[1] - 1) < 0.05


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
    counts = parameter_counts(TransformerConfig(vocab_size=10**12))
    assert max(counts.values()) == 512 * 10**12
    with keras.StatelessScope():
        pass  # at its end, Keras initializes all weights that are still without values
