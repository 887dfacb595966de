import numpy as np
import pytest
from support.models.rival_reference import check_logits, logits, sigmoid, softmax, source_matrix

from t2t_keras.rivals.bytenet import ByteNetConfig
from t2t_keras.rivals.convs2s import ConvS2SConfig
from t2t_keras.rivals.gnmt import GNMTConfig
from t2t_keras.rivals.moe import MoEConfig


def forward(weights, config, source, target):
    """Returns logits `[target_length, vocabulary]` of one sentence pair."""

    def gates(name, x):
        return x @ weights[f"{name}/lstm/lstm_cell/kernel"]

    def lstm(name, x):
        hidden = cell = np.zeros(config.units)
        outputs = []
        for added in gates(name, x) + weights[f"{name}/lstm/lstm_cell/bias"]:
            sums = added + hidden @ weights[f"{name}/lstm/lstm_cell/recurrent_kernel"]
            enter, forget, new, leave = np.split(sums, 4)
            cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
            hidden = sigmoid(leave) * np.tanh(cell)
            outputs.append(hidden)
        return np.array(outputs)

    def stack(names, x, below, context):
        """Applies the layers above the first one, whose input was `below` and output is x."""
        name, i = below
        fast = gates(name, i)
        for layer, name in enumerate(names):
            parts = [x, context, fast[:, : 2 * config.units] if config.fast_forward else None]
            read = np.concatenate([part for part in parts if part is not None], axis=1)
            y, fast = lstm(name, read), gates(name, read)
            x = x + y if layer > 0 and not config.fast_forward else y
        return x

    e = source_matrix(weights)[source] * np.sqrt(config.d_model)
    both = lstm("encoder_0_forward", e), lstm("encoder_0_backward", e[::-1])[::-1]
    names = [f"encoder_{i}" for i in range(1, config.num_layers)]
    encoded = stack(names, np.concatenate(both, axis=1), ("encoder_0_forward", e), None)

    g = weights["embedding/matrix"][target] * np.sqrt(config.d_model)
    h = lstm("decoder_0", g)
    query = h @ weights["attention/query/kernel"]
    keys = encoded @ weights["attention/key/kernel"]
    scores = np.tanh(query[:, None] + keys[None]) @ weights["attention/score/kernel"]
    context = softmax(scores[..., 0]) @ encoded
    names = [f"decoder_{i}" for i in range(1, config.layers[1])]
    h = stack(names, h, ("decoder_0", g), context)
    if "output/kernel" in weights:
        h = h @ weights["output/kernel"]
    return logits(weights, h)


@pytest.mark.parametrize(
    "name",
    [
        "gnmt",
        pytest.param("gnmt, other widths", marks=pytest.mark.jax),
        pytest.param("gnmt, fast-forward", marks=pytest.mark.jax),
    ],
)
def test_logits_equal_those_of_the_formulas(name):
    check_logits(name, forward)


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (GNMTConfig, {"decoder_layers": 1}, "`decoder_layers` must be at least 2"),
        (MoEConfig, {"fast_forward": True}, "`fast_forward` must be False: the experts"),
        (ByteNetConfig, {"max_dilation": 12}, "`max_dilation` must be a power of 2"),
        (ConvS2SConfig, {"top_layers": 15}, "`top_layers` must be below 15"),
        (ConvS2SConfig, {"decoder_layers": 4}, "`wide_layers` must be at most 2"),
        (MoEConfig, {"chosen": 9, "experts": 8}, "`chosen` must be at most experts=8"),
    ],
)
def test_wrong_settings_are_refused(config, settings, message):
    with pytest.raises(ValueError, match=message):
        config(**settings)
