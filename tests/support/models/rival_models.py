"""Small models of every kind, with random weights."""

from support.models.helpers import disturbed

from t2t_keras.rivals.bytenet import ByteNet, ByteNetConfig
from t2t_keras.rivals.convs2s import ConvS2S, ConvS2SConfig
from t2t_keras.rivals.gnmt import GNMT, GNMTConfig
from t2t_keras.rivals.moe import MoE, MoEConfig

TINY = {"vocab_size": 50, "source_vocab_size": None, "tie_output": True, "d_model": 16}
UNTIED = TINY | {"source_vocab_size": 40, "tie_output": False}
RIVALS = {
    "gnmt": (GNMT, GNMTConfig(**TINY, num_layers=3, units=16, attention_units=8)),
    "gnmt, other widths": (
        GNMT,
        GNMTConfig(**UNTIED, num_layers=1, decoder_layers=2, units=12, attention_units=8),
    ),
    "gnmt, fast-forward": (
        GNMT,
        GNMTConfig(**TINY, num_layers=3, units=16, attention_units=8, fast_forward=True),
    ),
    "moe": (
        MoE,
        MoEConfig(**TINY, units=16, attention_units=8, experts=4, chosen=2, expert_units=8),
    ),
    "convs2s": (
        ConvS2S,
        ConvS2SConfig(
            **TINY,
            num_layers=4,
            units=12,
            wide_layers=1,
            wide_units=20,
            top_layers=1,
            top_units=24,
            max_length=32,
        ),
    ),
    "convs2s, other widths": (
        ConvS2S,
        ConvS2SConfig(
            **UNTIED,
            num_layers=1,
            decoder_layers=2,
            units=16,
            kernel=2,
            wide_layers=0,
            top_layers=0,
        ),
    ),
    "bytenet": (ByteNet, ByteNetConfig(**TINY, num_layers=4, units=8, max_dilation=2)),
    "bytenet, other widths": (
        ByteNet,
        ByteNetConfig(
            **UNTIED,
            num_layers=3,
            decoder_layers=4,
            units=20,
            kernel=4,
            max_dilation=4,
            unfold_ratio=1.5,
        ),
    ),
}


def rival(name):
    make, config = RIVALS[name]
    return disturbed(make(config))
