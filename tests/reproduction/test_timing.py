import pytest

from t2t_keras.reproduction.timing import median_seconds, sorted_lengths


def test_calls_are_warmed_up_and_then_timed_in_turn():
    calls = []
    medians = median_seconds([lambda: calls.append("a"), lambda: calls.append("b")], rounds=3)
    assert "".join(calls) == "aabb" + "ab" * 3
    assert len(medians) == 2 and all(seconds >= 0 for seconds in medians)


def test_lengths_are_integers_or_decimal_texts():
    assert sorted_lengths(["16", 8, "8"]) == (8, 16)
    for wrong in (["8.5"], ["-8"], ["many"], [0], [True], []):
        with pytest.raises(ValueError, match="`lengths` must"):
            sorted_lengths(wrong)
