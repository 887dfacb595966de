"""Diagrams follow the structure: what a model has is drawn, inside the picture."""

import matplotlib.image
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


@pytest.mark.long
def test_a_model_is_drawn_with_its_boxes_and_nothing_is_cut_off(tmp_path):
    settings = {"pre_norm": True, "decoder_layers": 1, "positions": "learned", "neighbourhood": 4}
    model = without_values(lambda: Transformer(TransformerConfig(**TINY, **settings)))
    model_diagram(tmp_path / "a.png", model)
    pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3]
    edges = [pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]]
    assert all((edge == 1).all() for edge in edges)
    assert (pixels < 0.5).all(axis=-1).sum() > 2000, "text and lines"
    structure = structure_of(model)
    assert [title for _, title in boxes_of(structure.encoder.groups[0][1][1])] == [
        *("Norm", "Feed Forward", "Add")
    ]
    canvas = Canvas(Figure(), 14, 10)
    top, cross = draw_stack(canvas, 5, 1, structure.decoder, "target")
    assert top == pytest.approx(module.BOTTOM + height_of(structure.decoder))
    assert len(cross) == len(structure.decoder.groups)
    top, cross = draw_stack(canvas, 2, -1, structure.encoder, "source")
    assert top == pytest.approx(module.BOTTOM + height_of(structure.encoder)) and cross == []
    texts = [text.get_text() for text in canvas.ax.texts]
    assert f"{structure.decoder.groups[0][0]} ×" in texts
