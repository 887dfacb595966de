import pytest

from t2t_keras.evaluation.bleu import bleu
from t2t_keras.evaluation.by_length import bleu_by_length


def test_each_group_has_the_bleu_of_its_lines():
    sources = ["one", "one two", "a b c d e f", *["w " * 7] * 10, "x " * 101]
    references = [f"The small dog sees {number} cats ." for number in range(14)]
    outputs = [*references[:5], *["nothing at all is right"] * 8, references[13]]
    groups = bleu_by_length(sources, outputs, references, samples=50)
    assert [(group.first, group.last, group.lines) for group in groups] == [
        *((0, 5, 2), (6, 10, 11), (101, None, 1))
    ]
    assert groups[0].score == groups[2].score == pytest.approx(100)
    assert groups[1].score == bleu(outputs[2:13], references[2:13]).score < 50
    assert groups[0].interval is None and groups[1].interval > 0
