import dataclasses

import numpy as np
import pytest
from support.models.helpers import TINY

from t2t_keras import TransformerConfig


def test_the_defaults_are_the_base_model():
    config = TransformerConfig().resolved()
    assert (config.num_layers, config.d_model, config.d_ff, config.num_heads) == (6, 512, 2048, 8)
    assert (config.d_k, config.d_v, config.dropout) == (64, 64, 0.1)
    assert config.positions == "sinusoidal" and not config.pre_norm


def test_resolving_twice_changes_nothing():
    resolved = TransformerConfig(**TINY, d_v=5).resolved()
    assert (resolved.d_k, resolved.d_v, resolved.decoder_layers) == (8, 5, 2)
    assert dataclasses.asdict(resolved.resolved()) == dataclasses.asdict(resolved)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 15, "num_heads": 3}, "`d_model` must be even .* d_model=15"),
        ({"d_model": np.int64(16)}, r"`d_model` must be a whole number .*np.int64\(16\)"),
        ({"num_heads": 0}, "`num_heads` must be .*at least 1. Received: num_heads=0"),
        ({"num_heads": 3}, "`num_heads` must be a divisor of d_model=16"),
        ({"num_layers": 0}, "`num_layers` must be .* num_layers=0"),
        ({"num_layers": 10**9}, "`num_layers` must be at most 1,000"),
        ({"decoder_layers": 0}, "`decoder_layers` must be .* decoder_layers=0"),
        ({"decoder_layers": 10**9}, "`decoder_layers` must be at most 1,000"),
        ({"tie_output": 1}, "`tie_output` must be True or False. Received: tie_output=1"),
        ({"embedding_scale": 0}, "`embedding_scale` must be a positive .* embedding_scale=0"),
        ({"source_end": None}, "`source_end` must be True or False. Received: source_end=None"),
        ({"position_offset": 10**30}, "`position_offset` must be at most 10,000"),
        ({"d_ff": "64"}, "`d_ff` must be .* d_ff='64'"),
        ({"dropout": 1.5}, "`dropout` must be a number of at least 0 and below 1.* dropout=1.5"),
        ({"attention_dropout": 1}, "`attention_dropout` must be .* attention_dropout=1"),
        ({"activation": "rleu"}, "`activation` must be one of .*did you mean 'relu'"),
        ({"positions": "sinusoid"}, "`positions` must be one of .*did you mean 'sinusoidal'"),
        ({"attention": "scale"}, "`attention` must be one of .*did you mean 'scaled'"),
        ({"vocab_size": 3}, "`vocab_size` must be a whole number of at least 4. .*vocab_size=3"),
        ({"source_vocab_size": 2}, "`source_vocab_size` must be .* source_vocab_size=2"),
        ({"position_offset": -1}, "`position_offset` must be .* position_offset=-1"),
        (
            {"position_offset": 9, "positions": "learned", "max_length": 9},
            "`position_offset` must be below max_length=9",
        ),
        (
            {"position_offset": 1, "positions": "none"},
            "`position_offset` must be 0 with positions='none'. Received: position_offset=1",
        ),
        ({"neighbourhood": 0}, "`neighbourhood` must be .*at least 1. Received: neighbourhood=0"),
        ({"decoder_neighbourhood": 2.5}, "`decoder_neighbourhood` must be a whole number"),
        ({"pre_norm": "yes"}, "`pre_norm` must be True or False. Received: pre_norm='yes'"),
        ({"residual": 0}, "`residual` must be True or False. Received: residual=0"),
        ({"layer_norm": None}, "`layer_norm` must be True or False. Received: layer_norm=None"),
        ({"norm_epsilon": 0}, "`norm_epsilon` must be a positive number. .*norm_epsilon=0"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{**TINY, **settings})
