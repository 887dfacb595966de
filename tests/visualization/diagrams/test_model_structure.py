"""The structure in a diagram is that of the layers, however the model was configured."""

import pytest
from support.models.helpers import TINY
from support.models.own_blocks import (
    GatedDecoderBlock,
    GatedEncoderBlock,
    ParallelDecoderBlock,
    ParallelEncoderBlock,
)

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.parameters import without_values
from t2t_keras.visualization.diagrams.model_structure import structure_of


def model_of(encoder_block=None, decoder_block=None, **settings):
    config = TransformerConfig(**{**TINY, **settings})
    return without_values(lambda: Transformer(config, encoder_block, decoder_block))


def titles(stack):
    return [[count, *(layer.title for layer in layers)] for count, layers in stack.groups]


def test_the_papers_model():
    structure = structure_of(model_of())
    attention, network = "Multi-Head Attention", "Feed Forward"
    assert titles(structure.encoder) == [[2, attention, network]]
    assert titles(structure.decoder) == [[2, f"Masked {attention}", attention, network]]
    for stack in (structure.encoder, structure.decoder):
        assert (stack.positions, stack.final_norm, stack.vocabulary) == ("sinusoidal", False, 50)
        for _, layers in stack.groups:
            for layer in layers:
                assert (layer.pre_norm, layer.has_norm, layer.has_residual) == (False, True, True)
    kinds = [layer.kind for layer in structure.decoder.groups[0][1]]
    assert kinds == ["attention", "cross-attention", "feed-forward"]
    details = [layer.details for layer in structure.encoder.groups[0][1]]
    assert details == ["h = 2, d_k = d_v = 8", "d_ff = 32, relu"]
    assert structure.attention == (2, 8, 8, "scaled", False, False)
    notes = ["d_model = 16", "dropout 0.1", "one matrix for source, target and output"]
    assert structure.notes == notes


def test_every_other_setting_is_seen():
    structure = structure_of(
        model_of(
            pre_norm=True,
            decoder_layers=1,
            positions="learned",
            d_k=4,
            neighbourhood=6,
            source_vocab_size=30,
            tie_output=False,
            activation="swish",
        )
    )
    assert [stack.final_norm for stack in structure[:2]] == [True, True]
    assert [stack.positions for stack in structure[:2]] == ["learned", "learned"]
    assert [stack.vocabulary for stack in structure[:2]] == [30, 50]
    assert [stack.groups[0][0] for stack in structure[:2]] == [2, 1]
    attention, network = structure.encoder.groups[0][1]
    assert attention.details == "r = 6, h = 2, d_k = 4, d_v = 8" and attention.pre_norm
    assert network.details == "d_ff = 32, swish"
    assert structure.notes[-1] == "a matrix each for source, target and output"


def test_parts_that_are_left_out_and_relative_positions():
    bare = structure_of(model_of(residual=False, positions="alibi", attention="additive"))
    assert not any(layer.has_residual for layer in bare.decoder.groups[0][1])
    assert bare.encoder.positions is None and bare.notes[-1] == "positions: alibi"
    assert bare.attention.scores == "additive" and bare.attention.has_bias
    bare = structure_of(model_of(layer_norm=False))
    assert not any(layer.has_norm for layer in bare.encoder.groups[0][1])


def test_blocks_of_ones_own_and_blocks_that_differ():
    gated = model_of(GatedEncoderBlock, GatedDecoderBlock)
    assert titles(structure_of(gated).encoder)[0][-1] == "GatedFeedForward"
    assert "differently" not in " ".join(structure_of(gated).notes)
    parallel = model_of(ParallelEncoderBlock, ParallelDecoderBlock)
    notes = " ".join(structure_of(parallel).notes)
    assert "ParallelEncoderBlock may connect" in notes and "ParallelDecoderBlock may" in notes
    mixed = model_of(num_layers=3)
    mixed.encoder.blocks[2].feed_forward.pre_norm = True
    assert [count for count, _ in structure_of(mixed).encoder.groups] == [2, 1]


def test_other_models_are_refused():
    with pytest.raises(ValueError, match=r"needs a Transformer.*Received: dict"):
        structure_of({})
