"""A model whose sources may begin with a language code: every way to translate repeats it."""

import re

import numpy as np
import pytest
import tensorflow as tf
from support.importing.small_sentencepiece import pieces_of, unigram_model
from support.runs.untrained import QUICK, untrained_run

from pipelines.markup.marked_text import Document
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from t2t_keras.runs import load_translator
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.translator import Translator

TEXT = "The dog sleeps. A cat drinks!"
TEXTS = [f">>de<< {TEXT}", ">>de<< " + "dog " * 1100, ">>de<<", TEXT, "", "> >de<< The dog. A cat"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose outputs depend on the code."""
    folder = tmp_path_factory.mktemp("coded")
    model = unigram_model(160)
    pieces = [piece for piece in pieces_of(model) if piece not in ("<unk>", "<s>", "</s>")]
    pieces = [*SPECIAL_PIECES, ">>de<<", ">>fr<<", *pieces]
    pieces += [f"▁{'abc'[i % 3]}{i}" for i in range(400 - len(pieces))]
    tokenizer = MappedSentencePiece(model, pieces, codes=True)
    save_tokenizer(tokenizer, folder / "vocabulary")
    return untrained_run(folder / "run", folder / "vocabulary", tokenizer, end=4.0)


def best(results):
    return [each[0].text for each in results]


@pytest.mark.long
def test_every_sentence_and_part_is_translated_with_the_code_of_its_text(run):
    translator = run.translator(**QUICK)
    results = translator.translations(TEXTS)
    sources = [[ids for ids, _ in each[0].parts] for each in results]
    assert [len(each) for each in sources] == [2, 2, 0, 2, 0, 2]
    for ids in (*sources[0], *sources[1]):
        assert ids[0] == 4 and 4 not in ids[1:] and len(ids) <= 1024
    assert not any(4 in ids for each in sources[3:] for ids in each), "the rest is ordinary text"
    coded, plain = best(translator.translations([">>de<< A cat drinks!", "A cat drinks!"]))
    assert best(results)[0].endswith(coded) and best(results)[3].endswith(plain) and coded != plain


@pytest.mark.long
def test_neither_words_nor_markup_nor_a_glossary_see_the_code(run):
    translator = run.translator(n_best=1, **QUICK)
    ((coded,),) = translator.translations(TEXTS[:1], alignments=True, confidence=True)
    assert coded.words.source[:5] == TEXT.split()[:5] and coded.words.target == coded.text.split()
    assert sorted(j for _, j in coded.alignment) == [*range(len(coded.words.target))]
    assert {i for i, _ in coded.alignment} <= {*range(6)}
    assert len(coded.confidence) == len(coded.words.target)
    marked = ">>de<< The <b>dog</b> sleeps. A <i>cat</i> drinks!"
    (found,) = run.translate([marked], markup="html", split="auto", **QUICK)
    assert re.sub("<.*?>", "", found) == coded.text
    assert found.index("</b>") < found.index("<i>"), "each in the translation of its sentence"
    line = Document("html").pieces_of(marked)
    assert run.translate([line], markup="html", split="auto", **QUICK) == [found]
    text = ">>de<< Dog sleeps. De cat."
    (found,) = run.translate([text], split="auto", glossary={"dog": "Hund", "de": "mein"}, **QUICK)
    assert found.split().count("Hund") == 1 and found.split().count("Mein") >= 1


@pytest.mark.long
def test_exports_translate_as_the_run(run, tmp_path):
    texts = [text for text in TEXTS if len(text) < 100]
    expected = run.translator(**QUICK).translations(texts, alignments=True)
    engine = SavedModelEngine(run.export(**QUICK))
    results = Translator(engine).translations(texts, alignments=True)
    assert best(results) == best(expected)
    scores = ([each.score for row in rows for each in row] for rows in (results, expected))
    np.testing.assert_allclose(*scores, rtol=1e-4)
    outputs = engine.signatures["serving_default"](tf.constant(texts))
    found = [text.decode() for text in outputs["translations"].numpy()]
    assert found == run.translate(texts, **QUICK)
    fast = load_translator(run.export(tmp_path / "ct2", "ctranslate2", **QUICK))
    assert fast.translate(texts) == best(expected)
    ((aligned,),) = fast.translations(texts[:1], alignments=True)
    assert results[0][0].words == aligned.words == expected[0][0].words
