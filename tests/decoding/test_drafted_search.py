"""Greedy search with a draft, over models whose probabilities are tables."""

import sys

import numpy as np
import pytest
from support.models.table_model import TableModel, search_table

from t2t_keras.decoding.drafted_search import Draft, drafted
from t2t_keras.decoding.rows import BEGIN, END
from t2t_keras.decoding.search_config import SearchConfig

LIMITS = (1, 2, 5, 12)


class Reader(TableModel):
    """Reads tokens with a `TableModel`; checks that none is left out."""

    def reader(self, source, room, steps):
        known = []

        def read(tokens, position):
            assert position <= len(known) and 0 < len(tokens) <= steps
            known[position:] = tokens
            assert known[0] == BEGIN and len(known) <= room
            rows = self.log_p[np.arange(position, len(known)), known[position:]]
            ids = rows[:, END:].argmax(axis=1) + END
            return rows[np.arange(len(rows)), ids].astype("float32"), ids

        return read


def searched(model, draft, limits=LIMITS):
    config = SearchConfig(beam=1, extra_length=0)
    return drafted(model, draft, config, (np.arange(max(limits)) < np.array(limits)[:, None]) * 5)


@pytest.mark.parametrize("most", [1, 3, 7])
def test_any_draft_leaves_the_result_of_greedy_search(most):
    for seed in range(30):
        model = Reader(seed, vocabulary=12, end=1.0)
        found = searched(model, Draft(Reader(seed % 7, vocabulary=12), most))
        expected = search_table(model, LIMITS, beam=1)
        for tokens, scores, ((score, best),) in zip(*found, expected, strict=True):
            assert (tuple(tokens[0][tokens[0] > 0]), scores[0]) == (
                best,
                pytest.approx(score, abs=1e-5),
            )


def test_it_works_without_keras(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    model = Reader(0, vocabulary=12, end=1.0)
    assert searched(model, Draft(model, 7)).tokens.shape[0] == len(LIMITS)


def test_a_model_accepts_its_own_proposals_and_few_of_another_one():
    model, own, other = (Reader(seed, vocabulary=12, end=-9.0) for seed in (1, 1, 2))
    for draft in (Draft(own, 7), Draft(other, 7)):
        for _ in range(20):
            searched(model, draft, (12,))
        assert (draft.accepted == draft.proposed) == (draft.model is own)


def test_the_number_of_proposals_follows_agreement_and_cost():
    assert Draft(None, 7, size=1.0).count(0.9) == 0  # a draft as slow as the model does not pay
    draft = Draft(None, 7, size=0.1)
    assert draft.count(0.5) == 2  # 1.75 / 1.2 > 1.5 / 1.1 and 1.875 / 1.3
    assert draft.count(0.99) == 7
    assert draft.learn(0.5, 3, 3) > 0.5 > draft.learn(0.5, 3, 0)
    assert (draft.proposed, draft.accepted) == (6, 3)
