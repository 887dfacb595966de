"""A run of several languages: `to` selects the tag before each source, everywhere."""

import shutil

import numpy as np
import pytest
import tensorflow as tf
from support.runs.untrained import QUICK

from t2t_keras.runs import Run
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.request import Request
from t2t_keras.translating.translator import Translator

TEXTS = ["The dog sleeps. <2fr> A cat drinks!", "", "dog " * 1100]


def sources_of(translations):
    return [source for each in translations for source, _ in each.parts]


@pytest.mark.long
def test_every_part_of_every_sentence_begins_with_the_tag_of_its_text(tagged):
    run, tags = Run(tagged, to="fr"), Run(tagged).vocabulary().tags
    sources = sources_of(each[0] for each in run.translator(**QUICK).translations(TEXTS))
    assert len(sources) >= 2 + 2, "two sentences and the parts of a long one"
    assert all(ids[0] == tags["<2fr>"] and len(ids) <= 1024 for ids in sources)
    assert not any(tags["<2fr>"] in ids[1:] for ids in sources)

    requests = [Request(TEXTS[0], to=to, **QUICK) for to in ("de", "fr", None)]
    german, french, default = (best for best, *_ in run.translator().translations(requests))
    for result, tag in ((german, "<2de>"), (french, "<2fr>"), (default, "<2fr>")):
        assert {source[0] for source in sources_of([result])} == {tags[tag]}
    (expected,) = Run(tagged, to="de").translator().translations(TEXTS[:1], **QUICK)
    assert (german.text, german.score) == (expected[0].text, expected[0].score)
    assert german.score != french.score == default.score


@pytest.mark.long
def test_scores_translations_and_alignments_use_the_tag(tagged):
    german, french = Run(tagged, to="de"), Run(tagged, to="fr")
    pair = ("The dog sleeps.", "Der Hund")
    assert german.score([pair])[0].log_p != french.score([pair])[0].log_p
    options = {"n_best": 1, "alignments": True, "confidence": True, **QUICK}
    ((translation,),) = german.translator().translations([pair[0]], **options)
    assert translation.words.source == pair[0].split(), "the tag is not a word"
    links = translation.alignment
    assert {source for source, _ in links} <= set(range(3))
    assert len(links) == len(translation.text.split()) == len(translation.confidence) > 0


def test_without_a_choice_everything_that_reads_sources_is_refused(tagged):
    for action in (
        lambda run: run.translate(["a"]),
        lambda run: run.score([("a", "b")]),
        lambda run: run.export(),
        lambda run: run.attention("a"),
    ):
        with pytest.raises(ValueError, match="several tags: choose --to=de or --to=fr"):
            action(Run(tagged))
    with pytest.raises(ValueError, match=r"no tag 'es'\. It has de, fr"):
        Run(tagged, to="es").translate(["a"])
    with pytest.raises(ValueError, match="CTranslate2 folders cannot"):
        Run(tagged, to="de").export(format="ctranslate2")


@pytest.mark.long
def test_an_export_has_one_tag_and_the_answers_of_the_run(tagged, tmp_path):
    run = Run(shutil.copytree(tagged, tmp_path / "run"), to="fr")
    engine = SavedModelEngine(run.export(**QUICK))
    expected = run.translator(**QUICK).translations(TEXTS, alignments=True)
    results = Translator(engine, "fr").translations(TEXTS, alignments=True)
    for (one,), (other,) in zip(results, expected, strict=True):
        assert (one.text, one.words) == (other.text, other.words)
        np.testing.assert_allclose(one.score, other.score, rtol=1e-4)
    outputs = engine.signatures["serving_default"](tf.constant(TEXTS[:2]))
    assert outputs["translations"].numpy()[0].decode() == run.translate(TEXTS[:1], **QUICK)[0]
