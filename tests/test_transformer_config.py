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
    ("settings", "allowed"),
    [
        ({"d_model": 15, "num_heads": 3}, "even"),
        ({"d_model": np.int64(16)}, "a whole number"),
        ({"num_heads": 3}, "a divisor of d_model=16"),
        ({"num_layers": 0}, "a whole number of at least 1"),
        ({"num_layers": 10**9}, "at most 1,000"),
        ({"decoder_layers": 0}, "a whole number"),
        ({"decoder_layers": 10**9}, "at most 1,000"),
        ({"d_ff": "64"}, "a whole number"),
        ({"vocab_size": 3}, "a whole number of at least 4"),
        ({"source_vocab_size": 2}, "a whole number of at least 4"),
        ({"max_length": 0}, "a whole number"),
        ({"dropout": 1.5}, "a number of at least 0 and below 1"),
        ({"attention_dropout": 1}, "a number of at least 0"),
        ({"activation": "rleu"}, "one of .*did you mean 'relu'"),
        ({"positions": "sinusoid"}, "one of .*did you mean 'sinusoidal'"),
        ({"attention": "scale"}, "one of .*did you mean 'scaled'"),
        ({"position_offset": -1}, "a whole number of at least 0"),
        ({"position_offset": 10**30}, "at most 10,000"),
        ({"position_offset": 9, "positions": "learned", "max_length": 9}, "below max_length=9"),
        ({"position_offset": 1, "positions": "none"}, "0 with positions='none'"),
        ({"neighbourhood": 0}, "a whole number of at least 1"),
        ({"decoder_neighbourhood": 2.5}, "a whole number"),
        ({"embedding_scale": 0}, "a positive number"),
        ({"norm_epsilon": 0}, "a positive number"),
        *(
            ({name: 1}, "True or False")
            for name in ("tie_output", "source_end", "attention_bias", "output_bias")
        ),
        *(({name: 0}, "True or False") for name in ("pre_norm", "residual", "layer_norm")),
    ],
    ids=str,
)
def test_wrong_settings_are_refused(settings, allowed):
    name, *_ = settings
    with pytest.raises(ValueError, match=f"`{name}` must be {allowed}.* Received: {name}="):
        TransformerConfig(**{**TINY, **settings})
