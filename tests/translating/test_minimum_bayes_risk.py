"""Minimum Bayes risk chooses among samples, or among the best translations of beam search."""

import pytest
import sacrebleu
from support.models.fake_engine import fake_translator

from t2t_keras.evaluation.metric_settings import METRICS, line_metric
from t2t_keras.translating.request import TextError

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
    wanted = expected(candidates)
    assert (
        wanted[0][1] == TEXT.upper() and found(translator.translations(TEXT, mbr=5)) == wanted[:1]
    )
    three = translator.translations([TEXT], mbr=5, n_best=3)
    assert [found(each) for each in three] == [wanted[:3]]


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
    seen = set()

    def shortness(text, references, source):
        seen.add(source)
        return -len(text)

    METRICS["shortness"] = line_metric("shortness", shortness, needs=["source"])
    try:
        best = fake_translator().translate("A dog. Two cats.", mbr=4, mbr_metric="shortness")
    finally:
        del METRICS["shortness"]
    assert seen == {"A dog.", "Two cats."} and best == "A TWO"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mbr": 5}, "`mbr` must be at most the beam width, beam=4, except with --sample"),
        ({"mbr": 4, "n_best": 5}, "`n_best` must be at most the number of candidates, mbr=4"),
        ({"mbr": -1}, "`mbr` must be a whole number from 0 to 256. Received: mbr=-1"),
        ({"mbr": 4, "mbr_metric": "chr"}, "`mbr_metric` must be one of .*did you mean 'chrf'"),
        ({"mbr": 4, "mbr_metric": "comet"}, "COMET needs the checkpoint of its model"),
    ],
)
def test_a_mistake_is_named(options, message):
    with pytest.raises((TextError, ValueError), match=message):
        fake_translator().translate([TEXT], **options)
