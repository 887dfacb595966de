"""The weights of a model: their order, names, and which are shared."""

import h5py
import numpy as np
from support.models.helpers import TINY, array, pairs, tiny_model

from t2t_keras import Transformer, TransformerConfig


def test_the_order_and_the_names_of_the_weights_do_not_change():
    """Checkpoints refer to weights by their index."""
    model = Transformer(TransformerConfig(**{**TINY, "num_layers": 1}, positions="learned"))
    attention = [f"attention/{name}/kernel" for name in ("query", "key", "value", "output")]
    norm = ["norm/gamma", "norm/beta"]
    network = [f"network/{name}" for name in ("inner/kernel", "inner/bias")]
    network += [f"network/{name}" for name in ("outer/kernel", "outer/bias")]
    expected = ["embedding/matrix", "source_positions/table", "target_positions/table"]
    for stack, sublayers in (
        ("encoder", ["self_attention"]),
        ("decoder", ["self_attention", "cross_attention"]),
    ):
        for sublayer in sublayers:
            expected += [f"{stack}/block_0/{sublayer}/{name}" for name in attention + norm]
        expected += [f"{stack}/block_0/feed_forward/{name}" for name in network + norm]
    assert [weight.path.split("/", 1)[1] for weight in model.weights] == expected


def test_the_paths_in_weight_files_do_not_change(tmp_path):
    """Keras names them after the attributes of layers, so a second reference can change them."""
    names = ("query", "key", "value", "output_projection")
    attention = [f"sublayer/{name}/vars/0" for name in names]
    network = [f"sublayer/{name}/vars/{i}" for name in ("inner", "outer") for i in range(2)]
    sublayers = {
        "encoder/blocks/encoder_block/self_attention": attention,
        "encoder/blocks/encoder_block/feed_forward": network,
        "decoder/blocks/decoder_block/self_attention": attention,
        "decoder/blocks/decoder_block/cross_attention": attention,
        "decoder/blocks/decoder_block/feed_forward": network,
    }
    expected = {"embedding/vars/0"}  # the shared matrix is saved once
    for sublayer, paths in sublayers.items():
        expected |= {f"{sublayer}/{path}" for path in (*paths, "norm/vars/0", "norm/vars/1")}
    tiny_model(num_layers=1).save_weights(tmp_path / "model.weights.h5")
    saved = set()
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visititems(lambda name, item: saved.add(name) if hasattr(item, "shape") else None)
    assert saved == expected


def test_separate_matrices_of_source_and_output():
    tied, separate = (
        tiny_model(output_bias=True, **settings)
        for settings in ({}, {"source_vocab_size": 30, "tie_output": False})
    )
    assert separate.count_params() == tied.count_params() + 50 * 16 + 30 * 16
    assert separate.embedding.bias is None and separate.output_embedding.bias is not None
    inputs = pairs(vocab_size=30)
    before = array(separate(inputs))
    for weight in separate.output_embedding.weights:
        weight.assign(weight * 2)
    np.testing.assert_allclose(array(separate(inputs)), before * 2, atol=1e-5)
    separate.source_embedding.matrix.assign(separate.source_embedding.matrix * 2)
    assert not np.allclose(array(separate(inputs)), before * 2)
