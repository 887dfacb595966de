import json

import numpy as np
import pytest

from t2t_keras.decoding.alignment import alignment_heads, attention_between
from t2t_keras.runs import RunEnsemble, alignment_choice, trained_model
from t2t_keras.runs.alignment_choice import agreement, links, rate_heads, read_choice
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.word_links import between_words

SOURCES, TARGETS = ["The dog sleeps.", "A cat"], ["Der Hund schläft.", "Eine Katze"]


def test_a_run_without_a_choice_has_the_default(run):
    assert read_choice(run) is None


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
    lines = [" ".join(f"{i}-{j}" for i, j in links) for links in gold]
    rated = copied.choose_alignment(SOURCES, TARGETS, lines)
    rates = [each.error_rate for each in rated]
    assert rates[0] == 0 and set(rates[1:]) == {1}
    assert rated[0].head == best
    assert read_choice(copied) == copied.alignment_choice() == rated[0].head


def test_the_aligner_uses_the_chosen_head(copied, monkeypatch):
    copied.choose_alignment(SOURCES, TARGETS)
    used = []
    monkeypatch.setattr(trained_model, "aligner", lambda model, tokenizer, head: used.append(head))
    copied.aligner()
    assert used == [read_choice(copied)] != [None]


@pytest.mark.long
def test_an_ensemble_uses_the_choice_of_its_first_run(copied, run):
    copied.choose_alignment(SOURCES, TARGETS)
    choice, ids = read_choice(copied), [np.append(np.arange(5, 9), 2).astype("int32")] * 2
    ensemble = RunEnsemble([copied.folder, run.folder])
    assert ensemble.alignment_choice() == choice
    assert RunEnsemble([run.folder, copied.folder]).alignment_choice() is None
    weights = attention_between(copied.model(), ids[0][None], ids[1][None], choice)[0]
    words = between_words(copied.tokenizer(), *ids, np.array(weights))
    expected = sorted((int(i), j) for j, i in enumerate(words.argmax(axis=1)))
    assert ensemble.aligner()(Translation("", 0.0, [ids])) == expected


def test_without_alignments_the_highest_agreement_is_chosen(copied):
    rated = copied.choose_alignment(SOURCES, TARGETS)
    shares = [each.agreement for each in rated]
    assert shares == sorted(shares, reverse=True)
    assert {each.error_rate for each in rated} == {None}
    assert read_choice(copied) == rated[0].head


def test_agreement_is_the_share_of_links_in_both_directions():
    weights = np.array([[0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    assert links(weights) == [(0, 0), (0, 1), (2, 2)]
    assert agreement([weights, np.zeros([0, 2])]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "contents", [{}, {"head": {"layer": 9}}, {"head": {"tail": 1}}, {"head": {"head": "first"}}]
)
def test_an_unusable_choice_is_refused_with_a_remedy(copied, contents):
    (copied.folder / "alignment.json").write_text(json.dumps(contents))
    with pytest.raises(ValueError, match=r"alignment.json has no usable choice .*delete the file"):
        copied.aligner()


@pytest.mark.long
def test_a_wrong_alignment_leaves_the_choice_as_it_was(copied):
    copied.choose_alignment(SOURCES, TARGETS)
    before = read_choice(copied)
    with pytest.raises(ValueError, match=r"line 2: the target sentence has 2 words.* '0-2'"):
        copied.choose_alignment(SOURCES, TARGETS, ["0-0", "0-2"])
    with pytest.raises(ValueError, match=r"Received: 1 lines for 2 pairs"):
        copied.choose_alignment(SOURCES, TARGETS, ["0-0"])
    with pytest.raises(ValueError, match=r"as many translations. Received: 0 and 0"):
        copied.choose_alignment([], [])
    assert read_choice(copied) == before


def test_only_known_alignments_can_choose_the_reading_step(run):
    known = rate_heads(run, SOURCES, TARGETS, ["0-0", "0-0"])
    assert {each.head.shifted for each in known} == {False, True}
    assert not any(each.head.shifted for each in rate_heads(run, SOURCES, TARGETS))
