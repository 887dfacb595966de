"""The selection of example translations in a report."""

import pytest

from t2t_keras.runs.reporting.report import count_text
from t2t_keras.runs.reporting.translation_sections import ExampleTranslation, chosen


def example(index, score, words=0):
    return ExampleTranslation(index, score, f"{index:02}" + " word" * words, "reference", "output")


@pytest.mark.parametrize(("count", "most"), [(3, 5), (17, 5), (40, 2)])
@pytest.mark.parametrize("scores", [[0.0, 0.0, 1.0, 50.0], range(1000)])
def test_best_middle_and_worst_are_distinct_lines_in_order(count, most, scores):
    lines = [example(i, scores[i % len(scores)], words=i % 7) for i in range(count)]
    groups = chosen([*lines, *lines], most)  # no source is shown twice
    assert [(name, len(group)) for name, group in groups.items()] == [
        (name, min(most, count // 3)) for name in ("Best", "Middle", "Worst")
    ]
    shown = [*groups["Best"], *groups["Middle"], *groups["Worst"][::-1]]
    assert len(set(shown)) == len(shown)
    ordered = [line.score for line in shown]
    assert ordered == sorted(ordered, reverse=True)
    others = [line.score for line in lines if line not in shown]
    assert all(ordered[0] >= score >= ordered[-1] for score in others)
    for name, sign in (("Best", -1), ("Worst", 1)):
        keys = [(sign * line.score, -len(line.source)) for line in groups[name]]
        assert keys == sorted(keys)


def test_fewer_than_three_lines_are_all_shown():
    lines = [example(i, float(i)) for i in range(2)]
    assert chosen(lines, 5) == {"All lines": lines[::-1]}


def test_counts_are_easy_to_read():
    assert [count_text(n) for n in (999, 2_900_000, 5e9)] == ["999", "2.9 M", "5.0 G"]
