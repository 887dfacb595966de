"""Which signature of a SavedModel answers which rows, and what an export cannot do."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.decoding.rows import Rows
from t2t_keras.translating.engines import saved_model
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.request import Request
from t2t_keras.translating.translator import Translator

TEXTS = ["The dog sleeps.", "", "The cat sleeps."]
NAMES = ("search", "with_options", "with_phrases", "log_p", "attention", "small_batch")
BEAM = 4  # beam width of the export
N_BEST = 2  # translations per text that the export returns


class Signatures(dict):
    """Signatures that write their source, with as many hypotheses as are exported.

    Attributes:
        calls: (name without "ids_", inputs as arrays) of each call.
        fits: whether outputs fit into the arrays of a search that XLA compiles.
    """

    def __init__(self, names=NAMES):
        super().__init__({f"ids_{name}": self.signature(name) for name in names})
        self.calls, self.fits = [], True

    def signature(self, name):
        def call(**inputs):
            self.calls.append((name, {key: each.numpy() for key, each in inputs.items()}))
            source = inputs["source"]
            rows = tf.shape(source)[0]
            if name == "log_p":
                return {"log_probabilities": tf.zeros(tf.shape(inputs["target"]))}
            if name == "attention":
                return {"weights": tf.ones([rows, inputs["target"].shape[1], source.shape[1]])}
            count = BEAM if name.startswith("with") else N_BEST
            tokens = tf.repeat(source[:, None], count, axis=1)
            scores = tf.zeros([rows, count]) - tf.range(float(count))
            if "n_best" in inputs:
                scores = tf.where(tf.range(count) < inputs["n_best"][:, None], scores, -np.inf)
            return {"tokens": tokens, "scores": scores, "finished": tf.constant(self.fits)}

        return call

    def asked(self):
        return [name for name, _ in self.calls]


@pytest.fixture
def signatures():
    return Signatures()


@pytest.fixture
def engine(files, signatures):
    return SavedModelEngine(files, signatures)


def test_rows_that_ask_for_nothing_are_answered_by_the_exported_search(engine, signatures):
    (found,) = Translator(engine).translations(["Der Hund"])
    assert [each.text for each in found] == ["Der Hund"], "one, unless more are asked for"
    assert len(Translator(engine).translations(["Der Hund"], n_best=2, alpha=0.5)[0]) == 2
    assert signatures.asked() == ["search"] * 2


def test_options_and_prefixes_are_answered_by_the_search_with_options(engine, signatures):
    requests = [
        Request("a", alpha=0.25),
        Request("b", beam=2, n_best=2),
        Request("c"),
        Request("d", n_best=3),  # more than the exported search returns
        Request("e", prefix="Der", n_best=2),
    ]
    found = Translator(engine).translations(requests)
    assert [len(row) for row in found] == [1, 2, 1, 3, 2]
    assert signatures.asked() == ["search", *["with_options"] * 4]
    calls = [inputs for name, inputs in signatures.calls if name == "with_options"]
    names = "beam", "n_best", "alpha"
    rows = [(*(each[name].item() for name in names), each["prefix"].size > 0) for each in calls]
    assert sorted(rows) == [
        (2, 2, 0.5, False),
        (4, 1, 0.25, False),
        (4, 2, 0.5, True),
        (4, 3, 0.5, False),
    ]
    assert calls[0]["alpha"].dtype == "float32" and calls[0]["beam"].dtype == "int32"


def test_phrases_are_answered_by_the_constrained_search(engine, signatures):
    requests = [
        Request("a", require=["Hund"]),
        Request("b", require=["Hund"], alpha=0.0, prefix="Der"),
        Request("a dog", require=["Katze"]),
    ]
    Translator(engine).translations(requests)
    assert {*signatures.asked()} == {"with_phrases"}
    assert {len(inputs["phrases"]) for _, inputs in signatures.calls} == {1, 2}
    Translator(engine).translations([Request("a bird", glossary={"dog": "Katze"})])
    assert signatures.asked()[-1] == "search", "no phrase applies to this text"
    Translator(engine).translations([Request("a dog", glossary={"dog": "Katze"})])
    assert {"search", "log_p"} < {*signatures.asked()}, "the term replaces a word"


def test_where_xla_is_used_small_batches_have_few_shapes(files, signatures, monkeypatch):
    monkeypatch.setattr(saved_model, "choose_xla", lambda wanted: True)
    engine = SavedModelEngine(files, signatures)
    sizes = (1, 2), (4, 17), (5, 2), (1, 65)  # the last two are too large
    for size in sizes:
        found = engine.search(Rows(np.full(size, 5, "int32"), range(size[0])))
        assert len(found.tokens) == len(found.scores) == size[0]
    assert signatures.asked() == ["small_batch", "small_batch", "search", "search"]
    shapes = [inputs["source"].shape for _, inputs in signatures.calls]
    assert shapes == [(4, 16), (4, 32), *sizes[2:]]
    signatures.fits = False
    engine.search(Rows(np.full((1, 2), 5, "int32"), [0]))
    assert signatures.asked()[4:] == ["small_batch", "search"]
    signatures.calls.clear()
    engine.warm_up()
    assert [inputs["source"].shape[1] for _, inputs in signatures.calls][:6:2] == [16, 32, 64]


def test_log_p_and_attention_have_signatures_of_their_own(engine, signatures):
    Translator(engine).translations(["Der Hund"], alignments=True, confidence=True)
    assert signatures.asked() == ["search", "log_p", "attention"]
    signatures.calls.clear()
    engine.warm_up()
    assert signatures.asked() == ["search", "with_options", "with_phrases", "log_p", "attention"]


def test_a_model_without_attention_is_named(files):
    engine = SavedModelEngine(files, Signatures(set(NAMES) - {"attention"}))
    with pytest.raises(ValueError, match="toy/1 has no attention to the source, so its words"):
        Translator(engine).translations(["a"], alignments=True)
    assert Translator(engine).translate(["a"], confidence=True) == ["a"]
    engine.warm_up()


def test_a_search_method_of_a_plug_in_has_no_options_and_prefixes(files):
    engine = SavedModelEngine(files, Signatures({"search", "log_p"}))
    assert engine.offers == ("n_best",)
    with pytest.raises(ValueError, match="has neither prefixes nor required phrases in an export"):
        Translator(engine).translate(["a"], prefix="Der")
    engine.warm_up()


def test_the_folder_is_not_needed_after_loading(engine, files):
    assert (engine.config.n_best, engine.most, engine.split) == (1, 2, "off")
    shutil.rmtree(files)
    assert Translator(engine).translate(["A dog."], confidence=True) == ["A dog."]
