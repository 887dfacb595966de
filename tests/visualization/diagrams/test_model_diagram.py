"""Diagrams follow the layers, however the model was configured; nothing is cut off."""

import matplotlib.image
import pytest
from support.models.helpers import TINY
from support.models.own_blocks import (
    GatedDecoderBlock,
    GatedEncoderBlock,
    ParallelDecoderBlock,
    ParallelEncoderBlock,
)

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.layers.decoder import BLOCKS
from t2t_keras.parameters import without_values
from t2t_keras.visualization.diagrams.attention_diagram import boxes_of
from t2t_keras.visualization.diagrams.model_diagram import (
    first_attention,
    groups_of,
    model_diagram,
    notes_of,
)

ATTENTION, NETWORK, ADD_NORM = "Multi-Head Attention", "Feed Forward", "Add & Norm"


def model_of(*blocks, **settings):
    with pytest.MonkeyPatch.context() as patch:
        if blocks:
            patch.setitem(BLOCKS, "own", blocks)
            settings["block"] = "own"
        config = TransformerConfig(**{**TINY, **settings})
        return without_values(lambda: Transformer(config))


def titles(stack):
    """Returns [number of blocks, title of a box, …] for each row of equal blocks."""
    return [
        [count, *(title for boxes in layers for _, title, _ in boxes)]
        for count, layers in groups_of(stack)
    ]


def details(stack):
    return [text for boxes in groups_of(stack)[0][1] for *_, text in boxes if text]


@pytest.mark.long
def test_a_model_is_drawn_and_nothing_is_cut_off(tmp_path):
    settings = {"pre_norm": True, "decoder_layers": 1, "positions": "learned", "neighbourhood": 4}
    model_diagram(tmp_path / "a.png", model_of(**settings))
    pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3]
    edges = [pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]]
    assert all((edge == 1).all() for edge in edges)
    assert (pixels < 0.5).all(axis=-1).sum() > 2000, "text and lines"


def test_the_papers_model():
    model = model_of()
    assert titles(model.encoder) == [[2, ATTENTION, ADD_NORM, NETWORK, ADD_NORM]]
    masked = f"Masked {ATTENTION}"
    assert titles(model.decoder) == [[2, masked, ADD_NORM, ATTENTION, ADD_NORM, NETWORK, ADD_NORM]]
    kinds = [boxes[0][0] for boxes in groups_of(model.decoder)[0][1]]
    assert kinds == ["attention", "cross-attention", "feed-forward"]
    assert details(model.encoder) == ["h = 2, d_k = d_v = 8", "d_ff = 32, relu"]
    assert boxes_of(first_attention(model.encoder)) == ["MatMul", "Scale", "Mask (opt.)", "SoftMax"]
    notes = ["d_model = 16", "dropout 0.1", "one matrix for source, target and output"]
    assert notes_of(model) == notes


def test_every_other_setting_is_seen():
    sizes = {"decoder_layers": 1, "d_k": 4, "neighbourhood": 6, "source_vocab_size": 30}
    model = model_of(**sizes, pre_norm=True, tie_output=False, activation="swish")
    assert titles(model.encoder) == [[2, "Norm", ATTENTION, "Add", "Norm", NETWORK, "Add"]]
    assert titles(model.decoder)[0][0] == 1
    assert details(model.encoder) == ["r = 6, h = 2, d_k = 4, d_v = 8", "d_ff = 32, swish"]
    assert notes_of(model)[-1] == "a matrix each for source, target and output"


def test_parts_that_are_left_out_and_relative_positions():
    bare = model_of(residual=False, positions="alibi", attention="additive")
    assert titles(bare.encoder) == [[2, ATTENTION, "Norm", NETWORK, "Norm"]]
    assert notes_of(bare)[-1] == "positions: alibi"
    boxes = boxes_of(first_attention(bare.encoder))
    assert boxes[:4] == ["Add", "tanh", "Product with v", "Relative bias"]
    assert titles(model_of(layer_norm=False).encoder) == [[2, ATTENTION, "Add", NETWORK, "Add"]]


def test_blocks_of_ones_own_and_blocks_that_differ():
    gated = model_of(GatedEncoderBlock, GatedDecoderBlock)
    assert titles(gated.encoder)[0][-2] == "GatedFeedForward"
    assert "differently" not in " ".join(notes_of(gated))
    notes = " ".join(notes_of(model_of(ParallelEncoderBlock, ParallelDecoderBlock)))
    assert "ParallelEncoderBlock may connect" in notes and "ParallelDecoderBlock may" in notes
    mixed = model_of(num_layers=3)
    mixed.encoder.blocks[2].feed_forward.pre_norm = True
    assert [count for count, *_ in titles(mixed.encoder)] == [2, 1]


def test_other_models_are_refused():
    with pytest.raises(ValueError, match=r"needs a Transformer.*Received: dict"):
        model_diagram("none.png", {})
