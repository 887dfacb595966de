"""A model of a user's classes whose steps are wrong is refused before it is trained."""

import pytest
from support.runs.untrained import SMALL

from t2t_keras.experiment import Experiment
from t2t_keras.layers import DecoderBlock, EncoderBlock, SinusoidalPositionalEncoding
from t2t_keras.layers.decoder import BLOCKS
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS, Kind
from t2t_keras.runs.plugins.trained_plugins import check_decoding
from t2t_keras.transformer_config import TransformerConfig


class Doubled(DecoderBlock):
    def call(self, x, memory=None, x_mask=None, memory_mask=None, return_weights=False):
        return super().call(2 * x, memory, x_mask, memory_mask, return_weights)


class DoubledInSteps(Doubled):
    def decode_step(self, x, *args, **kwargs):
        return super().decode_step(2 * x, *args, **kwargs)


class FromZero(SinusoidalPositionalEncoding):
    def call(self, x, start=0, **kwargs):
        return super().call(x, **kwargs)


class WithoutStart(SinusoidalPositionalEncoding):
    def call(self, x):
        return super().call(x)


def kind(layer):
    return Kind(make=lambda config, **options: layer(**options))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"block": "right", "positions": "learned", "max_length": 4}, None),
        ({"block": "wrong"}, "steps of the model with model.block=wrong differ from its call"),
        ({"positions": "from_zero"}, "positional encoding must obey `start`"),
        ({"positions": "without"}, "positions=without fails .*'start'"),
    ],
)
def test_wrong_steps_are_refused(monkeypatch, settings, message):
    monkeypatch.setitem(BLOCKS, "right", (EncoderBlock, DoubledInSteps))
    monkeypatch.setitem(BLOCKS, "wrong", (EncoderBlock, Doubled))
    monkeypatch.setitem(POSITIONAL_ENCODINGS, "from_zero", kind(FromZero))
    monkeypatch.setitem(POSITIONAL_ENCODINGS, "without", kind(WithoutStart))
    experiment = Experiment(TransformerConfig(**SMALL | {"source_vocab_size": 40}, **settings))
    model = experiment.new_model()
    if message is None:
        check_decoding(model, experiment)
        return
    with pytest.raises(ValueError, match=message):
        check_decoding(model, experiment)
    check_decoding(model, Experiment())  # a model without a user's entries is not tried
