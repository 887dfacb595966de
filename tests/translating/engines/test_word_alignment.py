import numpy as np
import pytest
from untrained import QUICK

from t2t_keras.decoding.alignment import attention_between
from t2t_keras.runs import RunEnsemble
from t2t_keras.translating.translator import Translation


@pytest.fixture(scope="module")
def align(run):
    return run.aligner()


def parts(run, *pairs):
    tokenizer = run.tokenizer()
    return [
        tuple(np.append(ids, 2).astype("int32") for ids in tokenizer.encode(pair)) for pair in pairs
    ]


def test_every_word_of_a_translation_is_aligned_to_a_source_word(run, align):
    ((translation,),) = run.translator(**QUICK).translate(["The dog sleeps."])
    pairs = align(translation)
    assert sorted(target for _, target in pairs) == list(range(len(translation.text.split())))
    assert {source for source, _ in pairs} <= {0, 1, 2}
    assert pairs == sorted(pairs)


def test_words_of_one_piece_are_aligned_to_the_word_with_the_largest_weight(run, align):
    ((source, target),) = parts(run, ("The that the", "das mein die"))
    assert len(source) == 4 and len(target) == 4, "one piece per word"
    weights = attention_between(run.model(), source[None], target[None])[0]
    best = np.argmax(weights[:-1, :-1], axis=1)
    expected = sorted((int(i), j) for j, i in enumerate(best))
    assert align(Translation("", 0.0, [(source, target)])) == expected


def test_words_are_counted_through_all_parts_of_a_long_text(run, align):
    both = parts(run, ("The dog", "Der Hund schläft."), ("The cat", "Die Katze"))
    first, second = (align(Translation("", 0.0, [part])) for part in both)
    shifted = [(source + 2, target + 3) for source, target in second]
    assert align(Translation("", 0.0, both)) == first + shifted


def test_an_output_without_an_end_is_aligned_to_its_last_word(run, align):
    ((source, target),) = parts(run, ("The dog", "Der Hund"))
    pairs = align(Translation("", 0.0, [(source, target[:-1])]))
    assert sorted(j for _, j in pairs) == [0, 1]


def test_an_empty_translation_has_no_alignment(run, align):
    assert align(Translation("", 0.0, [])) == []
    assert align(Translation("", 0.0, parts(run, ("The dog", "")))) == []


@pytest.mark.long
def test_the_first_run_of_an_ensemble_aligns(run, copied, align):
    translation = Translation("", 0.0, parts(run, ("The dog sleeps.", "Der Hund schläft.")))
    assert RunEnsemble([run.folder, copied.folder]).aligner()(translation) == align(translation)
