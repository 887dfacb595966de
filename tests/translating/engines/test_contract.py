"""The contract of engines: exports translate as their run does, or say why they cannot."""

import dataclasses
import itertools

import numpy as np
import pytest
from support.serving.served_engine import predictions
from support.text.generated_markup import Generated

from pipelines.markup.marked_text import Document
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.rows import Rows
from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.runs import load_translator as load_runs
from t2t_keras.serving.apis.tensorflow_serving_signatures import PAIRS, signatures_of
from t2t_keras.serving.model import ServedModel
from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine
from t2t_keras.translating.engines.litert import LiteRTEngine
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.exports import load_translator
from t2t_keras.translating.request import Request
from t2t_keras.translating.search_options import SAMPLING
from t2t_keras.translating.translator import Translator

SOURCES = [english for english, _ in pairs(12)]
GLOSSARY = {"dog": "guter Hund", "cat": "Katze", "cats": "100%ig"}
TOLERANCE = {"ctranslate2": 1e-3, "saved_model": 2e-5, "litert": 1e-4}  # of scores


def document():
    """Returns requests for the lines of a random document with a glossary."""
    html = Document("html")
    return [
        Request(html.pieces_of(line), markup="html", glossary=GLOSSARY)
        for line in Generated(0, "html").text.split("\n")
    ]


COMMON = [
    *(*SOURCES, "", "Ｗｉｄｅ \x07\u00a0 A\u0301", "dog " * 1100),
    *(Request(text, prefix="Der Hund", n_best=2) for text in SOURCES[:3]),
    Request(SOURCES[0], prefix="das " * 40),  # longer than the limit
    Request(" ".join(SOURCES[:3]), prefix="Die"),
    *(Request(text, beam=1) for text in SOURCES[:3]),
    *(Request(text, alpha=0.1, n_best=3, prefix="ein") for text in SOURCES[2:5]),
    Request(f"<p>{SOURCES[3]} <b>dog</b></p> {{x}} {SOURCES[4]}", markup="html"),
]
PHRASES = [
    *(Request(text, glossary=GLOSSARY, prefix="Ein", n_best=2) for text in SOURCES[:3]),
    Request(SOURCES[0], require=["das Haus", "Katze"], alpha=0.1, no_repeat_ngram=2),
    *document(),
]
ANY_SEARCH = [
    *(Request(text, penalty="marian", extra_length=2, banned=[" das"]) for text in SOURCES[:4]),
    *(Request(text, method="sample", n_best=4, top_k=9, seed=3) for text in SOURCES[:4]),
    *(Request(text, method="sample", mbr=10, n_best=2, top_k=9) for text in SOURCES[:2]),
    *(Request(text, stopping="first", n_best=2) for text in SOURCES[:4]),
]
PATIENCE = [Request(text, stopping="patience", n_best=2) for text in SOURCES]


@pytest.mark.long
@pytest.mark.parametrize(
    ("requests", "engines"),
    [
        (COMMON, ["ctranslate2", "saved_model", "litert"]),
        (PHRASES, ["saved_model", "litert"]),
        (ANY_SEARCH, ["litert"]),
        (PATIENCE, ["ctranslate2", "litert"]),
    ],
    ids=["common", "phrases", "any search", "patience"],
)
def test_exports_translate_align_and_rate_as_their_run(sharp_run, exported, requests, engines):
    requests = [each if isinstance(each, Request) else Request(each) for each in requests]
    requests = [dataclasses.replace(each, alignments=True, confidence=True) for each in requests]
    expected = sharp_run.translator().translations(requests)
    assert any(best.alignment for best, *_ in expected)
    for engine in engines:
        found = load_translator(exported(engine)).translations(requests)
        check_equal(found, expected, TOLERANCE[engine])


@pytest.mark.long
@pytest.mark.parametrize("engine", ["litert", "tensorflow"])
def test_with_a_draft_greedy_search_finds_the_same(sharp_run, exported, engine):
    """The model is its own draft, with which it agrees, and the draft of another one."""
    folder = exported("litert") if engine == "litert" else sharp_run.folder
    options = {"split": "off", "confidence": True}
    requests = [Request(text, beam=1, **options) for text in (*SOURCES[:4], "", "dog " * 300)]
    requests += [
        Request(text, **options, prefix="Der", beam=beam) for text in SOURCES for beam in (1, 2)
    ]
    expected = load_runs(folder, engine=engine).translations(requests)
    translator = load_runs(folder, engine=engine, draft=folder)
    translator.engine.draft.cost = 0.1  # not as large as the model
    check_equal([translator.translations([each])[0] for each in requests], expected, 1e-4)
    draft = translator.engine.draft
    assert draft.accepted == draft.proposed > 20
    draft.longest = 9  # a longer line would not fit into the draft
    engine = translator.engine.with_search(translator.engine.config.changed(beam=1))
    rows = Rows(np.array([[5, 6, 2]], "int32"), [0])
    assert not engine.proposes(rows)
    engine.draft.longest = 1000
    assert engine.proposes(rows)
    assert not engine.with_search(engine.config.changed(method="sample")).proposes(rows)


def check_equal(found, expected, tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        assert [each.text for each in ours] == [each.text for each in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.words == other.words
            assert one.score == pytest.approx(other.score, rel=tolerance, abs=tolerance)
            np.testing.assert_allclose(one.confidence, other.confidence, atol=tolerance)


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"alpha": 2.0, "beam": 3, "n_best": 3}, {"beam": 1}])
def test_litert_translates_a_text_alone_as_among_others(exported, options):
    translator = load_translator(exported("litert"))
    together = translator.translations(SOURCES, **{"n_best": 1, **options})
    (alone,) = translator.translations(SOURCES[7:8], **{"n_best": 1, **options})
    assert [each.text for each in alone] == [each.text for each in together[7]]
    scores = ([each.score for each in row] for row in (alone, together[7]))
    np.testing.assert_allclose(*scores, atol=1e-4)


@pytest.mark.long
def test_a_server_has_the_same_signatures_with_litert_as_with_a_savedmodel(exported):
    engines = SavedModelEngine(exported("saved_model")), LiteRTEngine(exported("litert"))
    theirs, ours = (signatures_of(ServedModel(engine)) for engine in engines)
    of_sampling = {name: ours[OPTIONS].inputs.pop(name) for name in ("method", *SAMPLING)}
    assert ours == theirs and of_sampling["top_p"] == ("float32", 1.0)
    for name in PAIRS:
        rows = [dict.fromkeys(ours[name].inputs, text) for text in (*SOURCES[:3], "")]
        for answers in zip(
            *(predictions(*rows, engine=each, signature=name) for each in engines), strict=True
        ):
            if name == "score":
                answers = [{"log_probabilities": answer} for answer in answers]
            expected, found = answers
            assert found.keys() == expected.keys() == ours[name].outputs.keys()
            for key, values in found.items():
                if ours[name].outputs[key][0] == "string":
                    assert values == expected[key]
                elif name != "align":
                    np.testing.assert_allclose(values, expected[key], 1e-4, 1e-5)
                else:  # a SavedModel takes the shifted weights of an end token from the padding
                    words = [piece not in ("", "</s>") for piece in found["target_pieces"]]
                    pair = (np.array(each)[words] for each in (values, expected[key]))
                    np.testing.assert_allclose(*pair, 1e-4, 1e-5)


CANNOT = {
    "ctranslate2": [
        ({"method": "sample"}, "--sample does not work with CTranslate2.* Give the run"),
        ({"banned": [" das"]}, "--banned does not work with CTranslate2"),
        ({"first": [" das"]}, "--first does not work with CTranslate2"),
        ({"no_repeat_ngram": 2}, "--no_repeat_ngram does not work with CTranslate2"),
        ({"constrain": "tree"}, "--constrain does not work with CTranslate2"),
        ({"require": [["Hund"]]}, "--glossary and --require do not work with CTranslate2"),
        ({"glossary": {"dog": "Hund"}}, "this model cannot search for required phrases"),
    ],
    "saved_model": [
        ({"beam": 5}, r"`beam` must be at most 4, the beam width of .*toy/1. Received: 5. .*"),
        ({"beam": 2, "require": [["Hund"]]}, "exported beam width, 4. Received: beam=2. Leave"),
        ({"beam": 2, "glossary": {"a": "b"}}, "searched for with the exported beam width, 4"),
        ({"method": "sample"}, "--sample does not work with an export: t2t-export fixed the"),
        ({"banned": [" das"]}, "--banned does not work with an export"),
        ({"extra_length": 9, "alpha": 1.0}, "--extra_length does not work with an export"),
        ({"constrain": "tree"}, "--constrain does not work with an export"),
    ],
    "litert": [
        ({"beam": 5}, r"`beam` must be at most 4, .* export it again with .* --beam=5"),
        ({"constrain": "tree"}, "--constrain does not work with LiteRT"),
        ({"method": "sample", "n_best": 3}, "LiteRT computes 1 or 4 hypotheses .* 'sample' has 3"),
        ({"beam": 2, "require": [["Hund"]]}, "with the exported beam width, 4. Received: beam=2"),
    ],
}
ALWAYS = [
    ({"n_best": 5}, "`n_best` must be at most the beam width, beam=4"),
    ({"to": "de"}, "the training data has no tag 'de'. It has none: leave --to out"),
]


def quick_engine(name, request):
    """Returns an engine, which has no graphs and programs unless that is quick."""
    if name == "ctranslate2":
        return CTranslate2Engine(request.getfixturevalue("exported")(name))
    if name == "litert":
        return LiteRTEngine(request.getfixturevalue("unconverted"))
    folder = request.getfixturevalue("files")
    return SavedModelEngine(folder, {"ids_search": None, "ids_with_options": None})


@pytest.mark.parametrize("name", CANNOT)
def test_an_engine_refuses_a_search_that_it_cannot_do(request, name):
    translator = Translator(quick_engine(name, request))
    for options, message in itertools.chain(CANNOT[name], ALWAYS):
        with pytest.raises(ValueError, match=message):
            translator.translations(["The dog"], **options)
