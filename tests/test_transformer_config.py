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
        ({"activation": "rleu"}, "one of .*did you mean 'relu'"),
        ({"positions": "sinusoid"}, "one of .*did you mean 'sinusoidal'"),
        ({"attention": "scale"}, "one of .*did you mean 'scaled'"),
        ({"position_offset": 9, "positions": "learned", "max_length": 9}, "below max_length=9"),
        ({"position_offset": 1, "positions": "none"}, "0 with positions='none'"),
    ],
    ids=str,
)
def test_wrong_settings_are_refused(settings, allowed):
    name, *_ = settings
    with pytest.raises(ValueError, match=f"`{name}` must be {allowed}.* Received: {name}="):
        TransformerConfig(**{**TINY, **settings})
