"""Sentences of the toy grammar, joined to lines."""

from t2t_keras.reproduction import Plan, texts
from t2t_keras.reproduction.claims.chained_text import chained_lines, encoded_chains, size
from t2t_keras.reproduction.claims.toy_runs import ToyRuns
from t2t_keras.reproduction.texts import pair_paths
from t2t_keras.runs.text_files import read_lines


def test_punctuation_marks_count_and_the_longer_language_decides():
    assert size([("I see him.", "Ich sehe, dass er da ist.")]) == 8
    assert size([("I see him.", "Ich sehe ihn."), ("Yes.", "Ja.")]) == 6


def test_a_line_is_filled_but_has_at_least_one_sentence():
    lines = chained_lines([1, 60], "test")
    assert lines[0][0].count(".") + lines[0][0].count("?") == 1
    assert size([lines[1]]) > 30
    assert len(lines[1][0].split(". ")) > 1
    assert chained_lines([1, 60], "test") == lines


def test_lines_of_training_evaluation_and_tests_are_written(tmp_path, monkeypatch):
    encoded = []
    monkeypatch.setattr(texts, "encoded_files", lambda *arguments: encoded.append(arguments))
    recipe = ToyRuns(Plan("claims", overrides={"data.toy_pairs": 200})).recipe({})
    encoded_chains(tmp_path / "text", recipe, 20, [60, 60, 10])
    lines = {
        name: list(zip(*map(read_lines, pair_paths(tmp_path / "text", name)), strict=True))
        for name in ("train", "dev", "test")
    }
    assert {name: len(each) for name, each in lines.items()} == {
        "train": 200,
        "dev": 100,
        "test": 3,
    }
    assert max(size([pair]) for pair in lines["train"] if pair[0].count(".") > 1) <= 20
    assert size(lines["test"][:1]) > 30
    assert not set(lines["train"]) & set(lines["dev"] + lines["test"])
    assert encoded[0][3:5] == tuple(pair_paths(tmp_path / "text", "train"))
    assert encoded[0][5] == pair_paths(tmp_path / "text", "dev")
