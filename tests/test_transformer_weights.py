"""The weights of a model: their order, names, and which are shared."""

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
    import h5py

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
    expected = {"embedding/vars/0"}
    for sublayer, paths in sublayers.items():
        expected |= {f"{sublayer}/{path}" for path in (*paths, "norm/vars/0", "norm/vars/1")}
    tiny_model(num_layers=1).save_weights(tmp_path / "model.weights.h5")
    saved = set()
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visititems(lambda name, item: saved.add(name) if hasattr(item, "shape") else None)
    assert saved == expected


def test_the_shared_matrix_is_counted_once_and_saved_once(tmp_path):
    import h5py

    model = tiny_model()
    matrices = [weight for weight in model.weights if tuple(weight.shape) == (50, 16)]
    assert len(matrices) == 1
    model.save_weights(tmp_path / "model.weights.h5")
    saved = []
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visititems(
            lambda name, item: saved.append(name) if getattr(item, "shape", 0) == (50, 16) else None
        )
    assert len(saved) == 1


def test_weights_are_created_with_the_model():
    model = Transformer(TransformerConfig(**TINY))
    assert model.built
    assert model.count_params() == sum(np.prod(weight.shape) for weight in model.weights) > 0


def test_a_separate_source_embedding_is_one_more_matrix():
    shared, separate = tiny_model(), tiny_model(source_vocab_size=30)
    assert separate.count_params() == shared.count_params() + 30 * 16
    inputs = pairs(vocab_size=30)
    before = array(separate(inputs))
    separate.source_embedding.matrix.assign(separate.source_embedding.matrix * 2)
    assert not np.allclose(array(separate(inputs)), before)


def test_a_separate_output_matrix_owns_the_bias():
    tied, separate = (tiny_model(output_bias=True, tie_output=tie) for tie in (True, False))
    assert separate.count_params() == tied.count_params() + 50 * 16
    assert separate.embedding.bias is None and separate.output_embedding.bias is not None
    inputs = pairs()
    before = array(separate(inputs))
    separate.output_embedding.matrix.assign(separate.output_embedding.matrix * 2)
    separate.output_embedding.bias.assign(separate.output_embedding.bias * 2)
    np.testing.assert_allclose(array(separate(inputs)), before * 2, atol=1e-5)
