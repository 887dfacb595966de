"""The best head is chosen on one half of the documents and measured on the other."""

import numpy as np
import pytest

from pipelines.toy.documents import Document, Pronoun
from t2t_keras.reproduction.claims import relation_analysis
from t2t_keras.reproduction.claims.relation_analysis import by_distance, chosen_pronouns, measured
from t2t_keras.runs.run import Run


def cases(*given):
    """Returns relations, which are tuples of half, kind, distance and shares."""
    halves, kinds, distances, shares = map(np.array, zip(*given, strict=True))
    return {
        **{"half": halves, "kind": kinds, "distance": distances, "words": np.full(len(given), 10)},
        **{"shares": shares, "is_largest": shares > 0.5},
    }


def test_heads_and_distances_chosen_on_one_half_are_measured_on_the_other():
    """Head 3 is best on the first half, head 0 on the second."""
    first = (0, "subject", -2, [0.1, 0.0, 0.2, 0.9])
    second = (1, "subject", -5, [0.8, 0.0, 0.1, 0.3])
    random = cases((0, "subject", -2, [0.1] * 4), (1, "subject", -2, [0.1] * 4))
    found = measured(cases(first, second), random, 2, "subject", 1)
    assert found["head"] == [1, 1]
    assert found["share"] == pytest.approx(0.3) and found["largest"] == 0
    assert (found["offset"], found["fixed"]) == (-2, 0)
    assert found["chance"] == pytest.approx(0.1) and found["untrained"] == pytest.approx(0.1)
    assert (found["cases"], found["distance"]) == (1, 5)


def test_other_kinds_and_near_words_do_not_count():
    given = [
        (half, *relation)
        for half in (0, 1)
        for relation in (
            *(("subject", -2, [1.0, 0.0]), ("subject", 6, [0.0, 1.0])),
            ("object", -2, [1.0, 0.0]),
        )
    ]
    found = measured(cases(*given), cases(*given), 2, "subject", 4)
    assert (found["cases"], found["head"], found["offset"]) == (1, [0, 1], 6)


def test_shares_by_distance_need_several_cases():
    given = [(1, "subject", 1, [0.2])] * 8
    given += [(1, "subject", -1, [0.4]), (1, "subject", 3, [1.0]), (0, "subject", 1, [1.0])]
    assert by_distance(cases(*given), "subject", [0, 0], 1) == {1: pytest.approx(2 / 9)}


@pytest.mark.long
def test_the_relations_of_a_run_are_measured(toy_run, monkeypatch):
    """With an untrained model: the figures are those of chance, and every part is there."""
    _, folder = toy_run
    monkeypatch.setattr(relation_analysis, "DOCUMENTS", 40)
    monkeypatch.setattr(relation_analysis, "PRONOUNS", 3)
    run = Run(folder)
    result = relation_analysis.analyse(folder, run.checkpoints.latest()[-1])
    config = run.experiment().model
    assert list(result["rows"]) == list(relation_analysis.ROWS)
    for found in result["rows"].values():
        assert len(found["shares"]) == config.num_layers * config.num_heads
        assert 0 <= found["share"] <= 1 and found["cases"] > 0
    words = result["example"]["words"]
    assert len(words) <= relation_analysis.LONGEST_EXAMPLE + 1 and words[-1] == "end"
    for name, links in result["example"]["links"].items():
        assert links and all(abs(start - end) >= relation_analysis.FAR for start, end in links)
        np.testing.assert_allclose(np.sum(result["example"]["weights"][name], axis=1), 1, atol=0.02)
    assert result["pronouns"]["cases"] == 3
    without = list(result["pronouns"]["without"].values())
    assert np.shape(without) == (3 * config.num_layers, config.num_heads)


def test_the_form_with_the_highest_probability_is_the_choice(monkeypatch):
    forms = {"m": "Er", "f": "Sie", "n": "Es"}
    documents = [
        Document("It is old.", "x ist alt.", [], [Pronoun(0, forms, gender)]) for gender in "fmf"
    ]

    class Score:
        def __init__(self, text):
            self.log_p = -1.0 if text.startswith("Sie") else -2.0

    class FakeRun:
        def score(self, pairs, weights):
            return [Score(text) for _, text in pairs]

    monkeypatch.setattr(relation_analysis, "without_each_head", lambda *_: {})
    found = chosen_pronouns(FakeRun(), "1", None, documents)
    assert found == {"cases": 3, "right": pytest.approx(2 / 3), "without": {}}
