"""Diagrams follow the structure: what a model has is drawn, inside the picture."""

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from support.models.helpers import TINY

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.parameters import without_values
from t2t_keras.visualization.diagrams import model_diagram as module
from t2t_keras.visualization.diagrams.diagram_parts import Canvas
from t2t_keras.visualization.diagrams.model_diagram import (
    boxes_of,
    draw_stack,
    height_of,
    model_diagram,
)
from t2t_keras.visualization.diagrams.model_structure import structure_of

VARIANTS = {
    "paper": {},
    "other": {
        "pre_norm": True,
        "decoder_layers": 1,
        "positions": "learned",
        "neighbourhood": 4,
        "attention": "unscaled",
    },
    "bare": {"residual": False, "positions": "alibi", "attention": "additive"},
}


@pytest.fixture(scope="module")
def models():
    configs = {name: TransformerConfig(**TINY, **each) for name, each in VARIANTS.items()}
    return {name: without_values(lambda c=c: Transformer(c)) for name, c in configs.items()}


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_is_cut_off(variant, models, tmp_path):
    model_diagram(tmp_path / "a.png", models[variant])
    pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3]
    edges = [pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]]
    assert all((edge == 1).all() for edge in edges)
    assert (pixels < 0.5).all(axis=-1).sum() > 2000, "text and lines"
    assert (tmp_path / "a.png").stat().st_size < 100_000


def test_boxes_follow_the_place_of_the_norm(models):
    def boxes(variant):
        layers = structure_of(models[variant]).encoder.groups[0][1]
        return [title for _, title in boxes_of(layers[1])]

    assert boxes("paper") == ["Feed Forward", "Add & Norm"]
    assert boxes("other") == ["Norm", "Feed Forward", "Add"]
    assert boxes("bare") == ["Feed Forward", "Norm"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stack_is_as_high_as_computed_and_cross_attention_takes_the_memory(variant, models):
    structure = structure_of(models[variant])
    canvas = Canvas(Figure(), 14, 10)
    top, cross = draw_stack(canvas, 5, 1, structure.decoder, "target")
    assert top == pytest.approx(module.BOTTOM + height_of(structure.decoder))
    assert len(cross) == len(structure.decoder.groups)
    top, cross = draw_stack(canvas, 2, -1, structure.encoder, "source")
    assert top == pytest.approx(module.BOTTOM + height_of(structure.encoder)) and cross == []
    texts = [text.get_text() for text in canvas.ax.texts]
    assert f"{structure.decoder.groups[0][0]} ×" in texts
    assert np.isfinite(top)
