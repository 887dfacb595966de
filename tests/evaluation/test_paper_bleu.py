import math

import pytest

from t2t_keras.evaluation.paper_bleu import paper_bleu, split_compounds


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("a-b", "a ##AT##-##AT## b"),
        # The first match consumes b, so the second hyphen has nothing before it.
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("ab-cd-ef", "ab ##AT##-##AT## cd ##AT##-##AT## ef"),
        ("a - b -c d-", "a - b -c d-"),
    ],
)
def test_hyphens_are_split_from_left_to_right_without_overlap(text, split):
    assert split_compounds(text) == split


def test_the_score_equals_the_formula_computed_by_hand():
    hypothesis, reference = "Der E-Mail-Test ist gut.", "Der E-Mail-Test war gut."
    # Der E ##AT##-##AT## Mail ##AT##-##AT## Test ist gut .  — 9 tokens, one of them wrong
    matches = [(8, 9), (6, 8), (4, 7), (3, 6)]
    expected = 100 * math.exp(sum(math.log(right / total) for right, total in matches) / 4)
    result = paper_bleu([hypothesis], [reference])
    assert result.score == pytest.approx(expected)
    assert result.name == "paper's BLEU"
    assert result.signature.startswith("Moses tokens (de)|compounds split|")


@pytest.mark.parametrize(
    ("hypothesis", "reference", "is_right"),
    [
        ("ganz anders hier und", "nichts davon steht da", False),
        ("das ist ein test .", "Das ist ein Test .", False),
        ("Er sagt \u201eja\u201c dazu.", 'Er sagt "ja" dazu.', True),
    ],
    ids=["no smoothing", "case matters", "quotation marks are normalized"],
)
def test_text_is_right_if_its_normalized_tokens_are(hypothesis, reference, is_right):
    assert paper_bleu([hypothesis], [reference]).score == (pytest.approx(100) if is_right else 0)
