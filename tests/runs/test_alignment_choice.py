import json

import numpy as np
import pytest

from t2t_keras.decoding.alignment import alignment_heads, attention_between
from t2t_keras.runs import alignment_choice, load_translator
from t2t_keras.runs.alignment_choice import agreement, rate_heads
from t2t_keras.translating.words import linked

SOURCES, TARGETS = ["The dog sleeps.", "A cat"], ["Der Hund schläft.", "Eine Katze"]


def test_the_lowest_error_rate_is_chosen_and_stored(copied, monkeypatch):
    heads = alignment_heads(copied.experiment().model)
    best, pairs = heads[4], [(3, 3), (2, 2)]
    gold = [[(sources - 1, j) for j in range(targets)] for sources, targets in pairs]

    def maps(run, sources, targets, heads, weights=None):
        """Returns weights that are largest at the gold links for the best head, and only there."""
        arrays = [np.full([len(heads), target, source], 0.1) for source, target in pairs]
        for array in arrays:
            array[:, :, 0] += 0.1
            array[heads.index(best), :, -1] += 0.2
        return arrays

    monkeypatch.setattr(alignment_choice, "word_maps", maps)
    assert copied.alignment_choice() is None
    lines = [" ".join(f"{i}-{j}" for i, j in links) for links in gold]
    rated = copied.choose_alignment(SOURCES, TARGETS, lines)
    rates = [each.error_rate for each in rated]
    assert rates[0] == 0 and set(rates[1:]) == {1}
    assert rated[0].head == best
    assert copied.alignment_choice() == rated[0].head


@pytest.mark.long
def test_words_are_aligned_by_the_chosen_head_of_a_run_or_of_the_first_in_an_ensemble(copied, run):
    before = copied.engine()
    rated = copied.choose_alignment(SOURCES, TARGETS)
    shares = [each.agreement for each in rated]
    assert shares == sorted(shares, reverse=True)
    assert {each.error_rate for each in rated} == {None}
    choice = copied.alignment_choice()
    assert choice == rated[0].head
    assert copied.engine() is not before and copied.engine().alignment == choice
    ids = np.array([[*range(5, 9), 2]], "int32")
    expected = attention_between(copied.model(), ids, ids, choice)
    for engine in (copied.engine(), load_translator(copied.folder, run.folder).engine):
        np.testing.assert_allclose(engine.attention(ids, ids), expected, atol=1e-6)


def test_agreement_is_the_share_of_links_in_both_directions():
    weights = np.array([[0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    assert linked(weights) == [(0, 0), (0, 1), (2, 2)]
    assert agreement([weights, np.zeros([0, 2])]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("contents", [{}, {"head": {"tail": 1}}])
def test_an_unusable_choice_is_refused_with_a_remedy(copied, contents):
    (copied.folder / "alignment.json").write_text(json.dumps(contents))
    with pytest.raises(ValueError, match=r"alignment.json has no usable choice .*delete the file"):
        copied.translate(SOURCES)


def test_wrong_alignments_are_refused_and_choose_nothing(copied):
    with pytest.raises(ValueError, match=r"line 2: the target sentence has 2 words.* '0-2'"):
        copied.choose_alignment(SOURCES, TARGETS, ["0-0", "0-2"])
    with pytest.raises(ValueError, match=r"as many translations. Received: 0 and 0"):
        copied.choose_alignment([], [])
    with pytest.raises(ValueError, match=r"as many translations. Received: 2 and 1"):
        copied.choose_alignment(SOURCES, TARGETS[:1])
    assert copied.alignment_choice() is None


def test_only_known_alignments_can_choose_the_reading_step(run, monkeypatch):
    maps = [np.full([9, 2, 2], 0.5)]
    monkeypatch.setattr(alignment_choice, "word_maps", lambda *arguments: maps)
    known = rate_heads(run, SOURCES[:1], TARGETS[:1], ["0-0"])
    assert {each.head.shifted for each in known} == {False, True}
    assert not any(each.head.shifted for each in rate_heads(run, SOURCES, TARGETS))
