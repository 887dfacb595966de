import gzip

import pytest

from pipelines.checks import SourceError
from pipelines.text.sources import Pairs, ScoredPairs, TabSeparatedFile

SCORES = [0.5, -1, 0.9, float("inf"), 0.5, float("-inf"), 0.1]
PAIRS = [(f"s{n}", f"t{n}") for n in range(len(SCORES))]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "scores").write_text("".join(f"{score}\t1.5\t2.5\n" for score in SCORES))
    (tmp_path / "pairs.tsv").write_text("".join("\t".join(pair) + "\n" for pair in PAIRS))
    return tmp_path


@pytest.mark.parametrize(
    ("threshold", "kept"),
    [
        ({"min_score": 0.5}, [0, 2, 3, 4]),
        ({"best": 2 / 7}, [2, 3]),
        ({"best": 3 / 7}, [0, 2, 3, 4]),  # equal scores
        ({"best": 1}, list(range(7))),
    ],
)
def test_pairs_with_high_scores_are_good(files, threshold, kept):
    source = ScoredPairs(TabSeparatedFile(files / "pairs.tsv"), files / "scores", **threshold)
    assert [int(pair[0][1:]) for pair in source if pair[2]] == kept


@pytest.mark.parametrize("best", [0.07, 0.14, 0.28, 0.55, 0.56, 0.005])
def test_the_share_is_not_rounded_up_by_the_machine(tmp_path, best):
    (tmp_path / "scores").write_text("".join(f"{n}\n" for n in range(100)))
    source = ScoredPairs(Pairs([("a", "b")] * 100), tmp_path / "scores", best=best)
    assert sum(is_good for *_, is_good in source) == max(1, round(100 * best))


def test_the_fingerprint_changes_with_the_scores_and_the_threshold(files):
    (files / "other.gz").write_bytes(gzip.compress(b"1\n" * 7))
    sources = [("scores", 0.5), ("scores", 0.6), ("other.gz", 0.5)]
    found = [ScoredPairs(Pairs(PAIRS), files / name, low).fingerprint() for name, low in sources]
    assert all(found.count(each) == 1 for each in found)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1\n" * 6, "There must be a score for each pair: .* Received: 6 scores of 7 pairs"),
        ("1\nnan\n", r"scores, line 2: a line of scores must begin with a number, .*'nan'"),
    ],
)
def test_scores_that_do_not_fit_are_refused(files, lines, message):
    (files / "scores").write_text(lines)
    with pytest.raises(SourceError, match=message):
        list(ScoredPairs(Pairs(PAIRS), files / "scores", min_score=0))
    with pytest.raises(ValueError, match=r"`best` must be above 0 and at most 1\."):
        ScoredPairs(Pairs(PAIRS), files / "scores", best=0)
