"""A run of several languages: `to` selects the tag before each source, everywhere."""

import numpy as np
import pytest
import tensorflow as tf
from support.runs.untrained import QUICK, untrained_run

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs
from t2t_keras.runs import Run, load_runs, load_translator
from t2t_keras.translating.request import Request

TEXTS = ["The dog sleeps. <2fr> A cat drinks!", "", "dog " * 1100]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run whose outputs depend on the tag."""
    folder = tmp_path_factory.mktemp("tagged")
    texts = [text for pair in pairs(200) for text in pair]
    tokenizer = learn(texts, VocabularyConfig(size=400, tags=("<2de>", "<2fr>")))
    save_tokenizer(tokenizer, folder / "vocabulary")
    run = untrained_run(folder / "run", folder / "vocabulary", tokenizer, end=4.0)
    config = read_json(run.config_file)
    write_json(run.config_file, config | {"tags": ["<2de>", "<2fr>"]})
    return run.folder


def sources_of(translations):
    return [source for each in translations for source, _ in each.parts]


@pytest.mark.long
def test_every_part_of_every_sentence_begins_with_the_tag(folder):
    for to in ("de", "fr"):
        run = Run(folder, to=to)
        tag = run.vocabulary().tags[f"<2{to}>"]
        results = run.translator(**QUICK).translations(TEXTS)
        sources = sources_of(each[0] for each in results)
        assert len(sources) >= 2 + 2, "two sentences and the parts of a long one"
        assert all(ids[0] == tag and len(ids) <= 1024 for ids in sources)
        assert not any(tag in ids[1:] for ids in sources)


@pytest.mark.long
def test_scores_translations_and_alignments_use_the_tag(folder):
    german, french = Run(folder, to="de"), load_runs([folder, folder], to="fr")
    pair = ("The dog sleeps.", "Der Hund")
    assert german.score([pair])[0].log_p != french.score([pair])[0].log_p
    options = {"n_best": 1, "alignments": True, "confidence": True, **QUICK}
    ((translation,),) = german.translator().translations([pair[0]], **options)
    assert translation.words.source == pair[0].split(), "the tag is not a word"
    links = translation.alignment
    assert {source for source, _ in links} <= set(range(3))
    assert len(links) == len(translation.text.split()) == len(translation.confidence) > 0


@pytest.mark.long
def test_each_text_may_have_its_own_tag(folder):
    run, chosen = Run(folder, to="fr"), ("de", "fr", None)
    texts = [Request(TEXTS[0], to=to, **QUICK) for to in chosen]
    results = [best for best, *_ in run.translator().translations(texts)]
    tags = run.vocabulary().tags
    expected = [tags["<2de>"], tags["<2fr>"], tags["<2fr>"]]
    assert [{source[0] for source in sources_of([each])} for each in results] == [
        {tag} for tag in expected
    ]
    (german,) = Run(folder, to="de").translator().translations(TEXTS[:1], **QUICK)
    assert (results[0].text, results[0].score) == (german[0].text, german[0].score)
    assert results[0].score != results[1].score == results[2].score


@pytest.mark.long
def test_without_a_choice_everything_that_reads_sources_is_refused(folder):
    for action in (
        lambda run: run.translate(["a"]),
        lambda run: run.score([("a", "b")]),
        lambda run: run.export(),
        lambda run: run.attention("a"),
    ):
        with pytest.raises(ValueError, match="several tags: choose --to=de or --to=fr"):
            action(Run(folder))
    with pytest.raises(ValueError, match=r"no tag 'es'\. It has de, fr"):
        Run(folder, to="es").translate(["a"])
    with pytest.raises(ValueError, match="CTranslate2 folders cannot"):
        Run(folder, to="de").export(format="ctranslate2")


@pytest.mark.long
def test_an_export_has_one_tag_and_the_answers_of_the_run(folder):
    run = Run(folder, to="fr")
    export = load_translator(run.export())
    expected = run.translator(n_best=4).translations(TEXTS, alignments=True)
    results = export.translations(TEXTS, n_best=4, alignments=True)
    assert [[each.text for each in row] for row in results] == [
        [each.text for each in row] for row in expected
    ]
    scores = [each.score for row in results for each in row]
    np.testing.assert_allclose(scores, [each.score for row in expected for each in row], rtol=1e-4)
    best = expected[0][0]
    assert results[0][0].words == best.words
    outputs = export.engine.signatures["translate_with_options"](text=tf.constant(TEXTS[:2]))
    assert outputs["translations"].numpy()[0, 0].decode() == run.translate(TEXTS[:1])[0]
