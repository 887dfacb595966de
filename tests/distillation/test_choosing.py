"""The hypothesis closest to the reference."""

import itertools

import sacrebleu

from t2t_keras.distillation import choosing
from t2t_keras.distillation.choosing import choose, closest


def test_the_closest_hypothesis_has_the_highest_sentence_bleu_and_of_equal_ones_is_the_first():
    reference = "the small dog sleeps in the garden"
    group = ["a dog sleeps", "the small dog sleeps in a garden", "the dog is asleep"]
    metric = sacrebleu.BLEU(effective_order=True)
    scores = [metric.sentence_score(text, [reference]).score for text in group]
    equal = [["a b", "a b", "x"], ["x", "y", ""], ["", "", ""]]
    assert scores.index(max(scores)) == 1
    hypotheses = [*group, *itertools.chain(*equal)]
    assert closest(hypotheses, [reference, "a b", "q", "q"]) == [1, 0, 0, 0]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_each_sentence_has_one_chosen_line(tmp_path, monkeypatch):
    monkeypatch.setattr(choosing, "BLOCK", 2)
    references = write(tmp_path / "references", ["der Hund", "die Katze", "ein\u2028Haus"])
    lines = ["ein Hund", "der Hund", "die Katze", "eine Katze", "ein Haus", "ein\u2028Haus"]
    output = tmp_path / "new" / "chosen"
    changed = choose(write(tmp_path / "found", lines), references, 2, output)
    assert output.read_text(encoding="utf-8") == "der Hund\ndie Katze\nein Haus\n"
    assert changed == 1
