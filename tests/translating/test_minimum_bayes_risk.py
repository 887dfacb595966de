"""Minimum Bayes risk chooses among samples, or among the best translations of beam search."""

import pytest
import sacrebleu
from support.models.fake_engine import fake_translator

from t2t_keras.evaluation.metric_settings import METRICS, line_metric

TEXT = "one two three four"
CHRF = sacrebleu.CHRF()


def expected(candidates):
    """Returns (utility, text) of each distinct candidate, best first, by brute force."""
    utility = {
        text: sum(CHRF.sentence_score(text, [each]).score for each in candidates) / len(candidates)
        for text in dict.fromkeys(candidates)
    }
    return sorted(((value, text) for text, value in utility.items()), key=lambda pair: -pair[0])


def found(translations):
    return [(pytest.approx(each.score), each.text) for each in translations]


def test_the_best_translations_of_beam_search_are_ranked_by_their_expected_utility():
    translator = fake_translator(beam=5)
    candidates = [each.text for each in translator.translations(TEXT, n_best=5)]
    assert found(translator.translations(TEXT, mbr=5, n_best=3)) == expected(candidates)[:3]


def test_samples_are_drawn_in_rows_as_wide_as_the_beam_and_equal_ones_count_together():
    translator = fake_translator(beam=2, method="sample")
    (best,) = translator.translations([TEXT], mbr=7, first_index=3)[0]
    (rows,) = [rows for method, _, rows in translator.engine.calls if method == "search"]
    assert [*rows.index] == [3 + row * 2**32 for row in range(4)]
    drawn = [
        each.text
        for index in rows.index
        for each in translator.translations(TEXT, n_best=2, first_index=int(index))
    ]
    assert len(drawn) == 8 > len({*drawn})
    assert found([best]) == expected(drawn)[:1]


def test_a_text_is_chosen_sentence_by_sentence_whatever_its_company():
    translator = fake_translator(method="sample")
    text, options = "A <b>dog</b> runs. Two cats sleep.", {"mbr": 8, "markup": "html"}
    (alone,) = translator.translations(text, first_index=1, confidence=True, **options)
    _, (among,) = translator.translations(["Other text.", text], confidence=True, **options)
    assert alone.text == among.text and alone.score == among.score
    assert len(alone.confidence) == len(alone.words.target) and "<b>" in alone.text
    assert translator.translate(["", "a"], mbr=8)[0] == ""
    with_terms = fake_translator(alpha=0.0).translate(TEXT, mbr=4, glossary={"two": "ZWEI"})
    assert with_terms == "ONE ZWEI THREE FOUR"


def test_a_metric_sees_the_source_of_the_candidates():
    METRICS["half"] = line_metric(
        "half", lambda text, others, source: 2 * len(text) == len(source), columns=["source"]
    )
    try:
        found = fake_translator().translate("Four or. Abcd to.", mbr=4, mbr_metric="half")
    finally:
        del METRICS["half"]
    assert found == "FOUR ABCD"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mbr": 5}, "`mbr` must be at most the beam width, beam=4, except with --sample"),
        ({"mbr": 4, "n_best": 5}, "`n_best` must be at most the number of candidates, mbr=4"),
        ({"mbr": 4, "mbr_metric": "chr"}, "`mbr_metric` must be one of .*did you mean 'chrf'"),
    ],
)
def test_a_mistake_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        fake_translator().translate([TEXT], **options)
