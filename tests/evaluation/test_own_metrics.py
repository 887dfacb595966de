"""Metrics of plug-in files."""

import pytest
import sacrebleu
from support.text.own_tables import section, with_entries

from t2t_keras.evaluation.bleu import compared
from t2t_keras.evaluation.metric_settings import METRICS, MetricSettings, line_metric
from t2t_keras.runs.evaluation import evaluate

PLUGIN = section("t2t_keras/evaluation/README.md", "Add a metric")
LINES = [f"The small dog number {n} sees the {word} cat ." for n, word in enumerate("abcdefgh")]
OURS = [*LINES[:6], *(line.lower() for line in LINES[6:])]
THEIRS = [*LINES[:3], *(line.replace("small", "big") for line in LINES[3:])]
OTHERS = [line.lower() for line in LINES]
OWN = MetricSettings(("exact", "length", "f1", "bleu"))


@pytest.fixture(autouse=True)
def entries():
    with with_entries(PLUGIN):
        yield


def test_metrics_of_a_plug_in_are_beside_ours_with_their_intervals_and_several_references():
    bleu, exact, f1, length = evaluate(OURS, LINES, settings=OWN).scores
    assert bleu.name == "BLEU" and exact.name == "exact match" and length.name == "length"
    assert (exact.score, length.score, exact.lines) == (75.0, 100.0, 8)
    assert f1.score == pytest.approx(200 * 78 / (78 + 80))
    assert 10 < exact.interval < 40 and f1.interval > 0 and length.interval is None
    assert "nrefs:1|bs:1000|seed:12345|file:" not in exact.signature  # there is no file mine.py
    assert exact.signature.startswith("nrefs:1|bs:1000|seed:12345|version:")
    assert length.signature.startswith("nrefs:1|bs:none|version:")
    both = evaluate(OURS, [LINES, OTHERS], settings=OWN).scores
    assert both[1].score == 100 and both[1].signature.startswith("nrefs:2|")


def test_the_bootstrap_is_that_of_sacrebleu():
    """A metric with the statistics of TER has its intervals and its p-values."""
    ter = sacrebleu.TER()

    def edits(hypothesis, references):
        return ter._extract_corpus_statistics([hypothesis], [[line] for line in references])[0]

    METRICS["own"] = line_metric("own", edits, lambda sums, lines: 100 * sums[0] / sums[1])
    settings = MetricSettings(("ter", "own"))
    for scores in (
        evaluate(OURS, LINES, settings=settings).scores,
        *compared(OURS, THEIRS, LINES, settings=settings),
    ):
        theirs, ours = scores
        assert ours.score == pytest.approx(theirs.score) and ours.p_value == theirs.p_value
        assert ours.interval == pytest.approx(theirs.interval)


def test_two_systems_are_compared_by_every_metric_that_allows_it():
    ours, theirs = compared(OURS, THEIRS, LINES, settings=OWN)
    assert [each.name for each in ours] == ["BLEU", "exact match", "word F1", "length"]
    assert [each.p_value is None for each in ours] == [False, False, False, True]
    scores = ours[1].score, theirs[1].score, theirs[3].score
    assert scores == (75.0, 37.5, pytest.approx(96, abs=2))
    assert 0 < ours[1].p_value < 1
    assert ours[1].interval == evaluate(OURS, LINES, settings=OWN).scores[1].interval
    only, _ = compared(OURS, THEIRS, LINES, settings=MetricSettings(("length",)))
    assert [each.name for each in only] == ["length"] and only[0].interval is None


CODE = """
from t2t_keras.evaluation.metric_settings import *
def lines(h, r):
    return {0}
def all(h, r):
    return {0}
METRICS["line"] = line_metric("line", lines)
METRICS["corpus"] = corpus_metric("corpus", all)
METRICS["sums"] = line_metric("sums", lambda h, r: {0}, lambda sums, lines: {1})
METRICS["plain"] = print
METRICS["twice"] = line_metric("BLEU", lines)
"""


FINITE = "must return a finite number at line 1 "


@pytest.mark.parametrize(
    ("name", "line", "score", "message"),
    [
        ("line", "1 / ('6' not in h)", "0", r"failed at line 7 \('.he \w+ dog .*, line 4\)$"),
        ("line", "float('nan')", "0", rf"'line' of mine.py, line 3 {FINITE}.*nan$"),
        ("corpus", "1 / 0", "0", r"'corpus' failed: ZeroDivisionError: .* \(mine.py, line 6\)$"),
        ("sums", "[1] * (1 + ('6' in h))", "1", "equally many numbers .* Received: 1 and"),
        ("plain", "1", "1", r"METRICS\['plain'\] must be line_metric"),
        ("twice", "1", "1", "the same displayed name, 'BLEU'"),
    ],
)
def test_a_failing_metric_is_named_with_its_place_and_the_line(name, line, score, message):
    with with_entries(CODE.format(line, score)):
        for against in (None, THEIRS):
            with pytest.raises(ValueError, match=message) as raised:
                evaluate(OURS, LINES, against=against, settings=MetricSettings((name, "bleu")))
            assert "\n" not in str(raised.value)


def test_metrics_see_the_columns_that_they_need():
    METRICS["news"] = line_metric(
        "news", lambda text, references, domain: 100 * (domain == "news"), columns=["domain"]
    )
    settings = MetricSettings(("news",), columns={"domain": ["news", "law"] * 4, "source": LINES})
    assert [score.score for score in evaluate(OURS, LINES, settings=settings).scores] == [50]
    with pytest.raises(ValueError, match=r"'news' needs the column 'domain'.*Received: source"):
        evaluate(OURS, LINES, settings=settings._replace(columns={"source": LINES}))
