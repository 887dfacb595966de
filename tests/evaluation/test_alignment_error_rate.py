import re

import pytest

from t2t_keras.evaluation.alignment_error_rate import GoldAlignment, alignment_error_rate, read_gold

SURE, POSSIBLE = frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2)})


@pytest.mark.parametrize(
    ("alignment", "expected"),
    [
        ([(0, 0), (1, 1)], 0),
        ([(0, 0), (1, 1), (1, 2)], 0),  # a possible link costs nothing
        ([(0, 0)], 1 - 2 / 3),
        ([(0, 0), (1, 2)], 1 - (1 + 2) / 4),
        ([(0, 0), (1, 1), (2, 2)], 1 - (2 + 2) / 5),
        ([], 1),
    ],
)
def test_the_rate_is_that_of_och_and_ney(alignment, expected):
    rate = alignment_error_rate([alignment], [GoldAlignment(SURE, POSSIBLE)])
    assert rate == pytest.approx(expected)


def test_links_of_all_pairs_are_counted_together():
    with pytest.raises(ValueError, match="have no links"):
        alignment_error_rate([[]], [GoldAlignment(frozenset(), frozenset())])
    gold = [GoldAlignment(SURE, POSSIBLE), GoldAlignment(frozenset({(0, 0)}), frozenset())]
    rate = alignment_error_rate([[(0, 0), (1, 2)], [(0, 1)]], gold)
    assert rate == pytest.approx(1 - (1 + 2) / (3 + 3))


def test_gold_is_read_in_pharaoh_format():
    gold = read_gold(["0-0 1-1 1p2", ""], [(2, 3), (1, 1)])
    assert gold == [GoldAlignment(SURE, POSSIBLE), GoldAlignment(frozenset(), frozenset())]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0"], "gold must have a line for each sentence pair. Received: 1 lines for 2 pairs"),
        (["0-0", "0:0"], "gold, line 2: a link must be two word indices"),
        (["2-0", ""], "gold, line 1: the source sentence has 2 words, so its indices end at 1. "),
        (["", "0p4"], "gold, line 2: the target sentence has 1 words, so its indices end at 0. "),
    ],
)
def test_a_malformed_line_is_refused_with_its_place_and_contents(lines, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_gold(lines, [(2, 3), (1, 1)], "gold")
