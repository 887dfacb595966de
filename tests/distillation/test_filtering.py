"""Bad translations are dropped, counted and shown."""

import pytest

from pipelines.atomic_files import read_json
from t2t_keras.distillation.filtering import Filter, exchange_sides, filter_pairs, write_scores


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("source", "translation", "reason"),
    [
        ("The dog sleeps in the garden.", "Der Hund schläft im Garten.", None),
        ("The dog sleeps.", "", "empty"),
        ("The dog sleeps.", "Der Hund der Hund der Hund.", "repetitions"),
        ("The dog sleeps.", "Der Hund der Hund schläft.", None),
        ("The dog sleeps.", "Der Hund schläft, schläft, schläft!", "repetitions"),
        ("The dog sleeps in the garden of the old house.", "Der Hund.", "ratio"),
        ("The dog sleeps in it.", "Ein Hund, den niemand sieht, schläft dort seit", "ratio"),
    ],
)
def test_the_rules_judge_single_pairs(source, translation, reason):
    assert Filter(1.0, 2.0, 2).reason(source, translation) == reason
    if reason != "empty":
        assert Filter(1.0, 0, 0).reason(source, translation) is None


def test_the_expected_length_is_that_of_the_median_pair():
    """Translations into Chinese are short, so that a long one is suspicious."""
    source = "the dog sleeps in the garden of the old man"
    assert Filter(0.3, 2.5, 0).reason(source, "x" * 50) is None, "12.9 expected, counted as 20"
    assert Filter(0.3, 2.5, 0).reason(3 * source, "xy" * len(source)) is None
    assert Filter(0.3, 2.5, 0).reason(3 * source, "xy" * 2 * len(source)) == "ratio"
    assert Filter(1.0, 2.5, 0).reason(3 * source, "xy" * 2 * len(source)) is None


def test_pairs_of_all_parts_are_written_in_order(tmp_path):
    first = ["one", "two", "three"], ["eins", "", "drei"]
    parts = [
        tuple(write(tmp_path / name, lines) for name, lines in zip("ab", first, strict=True)),
        (write(tmp_path / "c", ["four"]), write(tmp_path / "d", ["vier\tvier"])),
    ]
    counts = filter_pairs(parts, tmp_path / "out", 2.5, 2)
    assert counts == {"read": 4, "kept": 3, "empty": 1}
    pairs = "one\teins\nthree\tdrei\nfour\tvier vier\n"
    assert (tmp_path / "out" / "pairs.tsv").read_text() == pairs
    exchange_sides(tmp_path / "out" / "pairs.tsv", tmp_path / "exchanged")
    exchanged = "eins\tone\ndrei\tthree\nvier vier\tfour\n"
    assert (tmp_path / "exchanged").read_text() == exchanged
    facts = read_json(tmp_path / "out" / "filter.json")
    assert facts["counts"] == counts and facts["examples"] == {"empty": [["two", ""]]}
    assert facts["median_ratio"] == pytest.approx(4 / 3)


def test_no_text_left_is_one_error_with_the_counts(tmp_path):
    parts = [(write(tmp_path / "a", ["one", "two"]), write(tmp_path / "b", ["", "ha ha ha ha"]))]
    with pytest.raises(ValueError) as error:
        filter_pairs(parts, tmp_path / "out", 2.5, 2)
    assert "No text is left: all 2 translations were dropped" in str(error.value)
    assert "1 without a translation, 1 repetitive translation" in str(error.value)
    assert list((tmp_path / "out").iterdir()) == []


def test_scores_are_log_p_per_piece(tmp_path):
    scored = write(tmp_path / "scored", ["-6.0000\t4.4817\t4", "-3.0000\t20.0855\t1"])
    write_scores(scored, tmp_path / "scores")
    assert (tmp_path / "scores").read_text() == "-1.500000\n-3.000000\n"
