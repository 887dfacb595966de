"""Small models of every kind, with random weights."""

from helpers import disturbed

from t2t_keras.rivals.gnmt import GNMT, GNMTConfig
from t2t_keras.rivals.moe import MoE, MoEConfig

TINY = {"vocab_size": 50, "source_vocab_size": None, "tie_output": True, "d_model": 16}
RIVALS = {
    "gnmt": (GNMT, GNMTConfig(**TINY, num_layers=3, units=16, attention_units=8)),
    "gnmt, other widths": (
        GNMT,
        GNMTConfig(
            **TINY | {"source_vocab_size": 40, "tie_output": False},
            num_layers=1,
            decoder_layers=2,
            units=12,
            attention_units=8,
        ),
    ),
    "moe": (
        MoE,
        MoEConfig(**TINY, units=16, attention_units=8, experts=4, chosen=2, expert_units=8),
    ),
}


def rival(name):
    make, config = RIVALS[name]
    return disturbed(make(config))
