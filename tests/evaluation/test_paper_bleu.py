import math

import pytest

from t2t_keras.evaluation.bleu import bleu
from t2t_keras.evaluation.paper_bleu import paper_bleu, split_compounds


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("a-b", "a ##AT##-##AT## b"),
        # The b of a-b is used up when the second hyphen is looked at.
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("ab-cd-ef", "ab ##AT##-##AT## cd ##AT##-##AT## ef"),
        ("a - b -c d-", "a - b -c d-"),
    ],
)
def test_hyphens_are_split_from_left_to_right_without_overlap(text, split):
    assert split_compounds(text) == split


def test_it_is_the_formula_by_hand():
    hypothesis, reference = "Der E-Mail-Test ist gut.", "Der E-Mail-Test war gut."
    # Der E ##AT##-##AT## Mail ##AT##-##AT## Test ist gut .  — 9 tokens, one of them wrong
    matches = [(8, 9), (6, 8), (4, 7), (3, 6)]
    expected = 100 * math.exp(sum(math.log(right / all) for right, all in matches) / 4)
    found = paper_bleu([hypothesis], [reference])
    assert found.score == pytest.approx(expected)
    assert found.name == "paper's BLEU"
    assert found.signature.startswith("Moses tokens (de)|compounds split|")


def test_nothing_is_smoothed_and_case_counts():
    assert paper_bleu(["ganz anders hier und"], ["nichts davon steht da"]).score == 0
    assert paper_bleu(["das ist ein test ."], ["Das ist ein Test ."]).score < 100


def test_german_quotation_marks_are_made_one_kind():
    assert paper_bleu(
        ["Er sagt \u201eja\u201c dazu."], ['Er sagt "ja" dazu.']
    ).score == pytest.approx(100)


def test_it_is_not_sacrebleu():
    hypothesis, reference = ["Der Ost-West-Konflikt war lang."], ["Der Ost-West-Konflikt ist lang."]
    assert paper_bleu(hypothesis, reference).score > bleu(hypothesis, reference).score
