import keras
import numpy as np
import pytest
import tensorflow as tf
from support.runs.untrained import QUICK

from pipelines.toy.grammar import pairs
from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.decoding.rows import Rows
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.saved_model import save_ids_model
from t2t_keras.runs import load_translator
from t2t_keras.runs.trained_model import TrainedModel
from t2t_keras.runs.training.run_start import begin


class Numbered(TrainedModel):
    """Counts how often its model is loaded."""

    def __init__(self):
        super().__init__()
        self.loads, self.key = 0, "first"

    def weights_key(self, weights):
        return weights, self.key

    def model(self, weights):
        self.loads += 1
        return f"{weights}, {self.key}, load {self.loads}"


def test_a_model_is_loaded_again_only_for_different_or_newer_weights():
    runs = Numbered()
    assert runs.loaded("best") == runs.loaded("best") == "best, first, load 1"
    assert runs.loaded("newest") == "newest, first, load 2"
    runs.key = "second"
    assert runs.loaded("newest") == "newest, second, load 3"
    assert runs.loaded("best") == "best, second, load 4", "one model is kept at a time"


def test_an_engine_is_kept_for_each_search(run):
    engine = run.engine(**QUICK)
    run.engine(beam=2)
    assert run.engine(None, **QUICK) is engine and run.engine(beam=2) is not engine
    assert run.translator(**QUICK).engine is engine
    assert run.scorer().engine is run.engine() and run.scorer().engine.graphs is engine.graphs


def test_the_best_translation_of_each_text_is_returned_on_one_line(run, monkeypatch):
    texts, counts = ["The dog sleeps.", "", "The cat sleeps."], []
    best = run.translate(texts, on_progress=counts.append, **QUICK)
    translations = run.translator(n_best=1, **QUICK).translations(texts)
    assert best == [each[0].text for each in translations]
    assert best[1] == "" and best[0] and counts[-1] == 3
    target = run.engine(**QUICK).tokenizer.target
    monkeypatch.setattr(target, "decode", lambda sequences: ["a\nb"] * len(sequences))
    assert run.translate(texts, **QUICK) == ["a b", "", "a b"]


def test_a_text_is_one_sentence_unless_it_is_to_be_split(run):
    text = "The dog sleeps. A cat drinks!"
    assert run.translate([text], **QUICK) == run.translator(**QUICK).translate([text], split="off")
    (split,) = run.translate([text], split="auto", **QUICK)
    assert split == " ".join(run.translate(["The dog sleeps.", "A cat drinks!"], **QUICK))
    assert [split] == run.translator(**QUICK).translate([text]), "the default of a Translator"


@pytest.mark.long
def test_a_translator_is_that_of_a_run_of_an_ensemble_or_of_an_export(run, copied):
    assert load_translator(run.folder, weights="averaged", to=None).engine.name == run.folder
    assert isinstance(load_translator(run.folder, copied.folder).engine.model, Ensemble)
    with pytest.raises(ValueError, match="no weights 'oldest'"):
        load_translator(run.folder, weights="oldest")
    exported = copied.export(format="ctranslate2")
    translator, text = load_translator(exported), ["The dog sleeps."]
    assert translator.engine.folder == exported
    assert translator.translate(text, **QUICK) == copied.translate(text, **QUICK)


def test_search_settings_are_those_of_the_run_with_changes(run):
    assert run.search() == run.experiment().search
    assert run.search(beam=7, alpha=None).beam == 7
    for call in (run.search, run.translator, lambda **options: run.translate(["a"], **options)):
        with pytest.raises(ValueError, match=r"there is no .* 'bean' \(did you mean 'beam'\?\)"):
            call(bean=2)


@pytest.fixture(scope="module")
def trained_in_bfloat16(new_run, vocabulary, tmp_path_factory):
    """A run with the weights of the fixture `run` and the precision mixed_bfloat16."""
    bfloat16_run = new_run(tmp_path_factory.mktemp("runs") / "bfloat16", end=4.0)
    experiment = bfloat16_run.experiment()
    experiment.training.precision = "mixed_bfloat16"
    begin(bfloat16_run, experiment, vocabulary)
    return bfloat16_run


class TestARunTrainedInBfloat16:
    """It computes in float32, so that no result depends on the other texts of a batch."""

    def test_scores_like_a_run_trained_in_float32_alone_and_in_company(
        self, run, trained_in_bfloat16
    ):
        texts = pairs(20)
        scores, expected = trained_in_bfloat16.score(texts), run.score(texts)
        alone = [trained_in_bfloat16.score([pair])[0] for pair in texts[:5]]
        for given, wanted in zip([*scores, *alone], [*expected, *expected[:5]], strict=True):
            np.testing.assert_allclose(given.token_log_p, wanted.token_log_p, atol=1e-5)

    @pytest.mark.long
    def test_translates_like_a_run_trained_in_float32(self, run, trained_in_bfloat16):
        texts = [source for source, _ in pairs(8)]
        results, expected = (
            each.translator(n_best=1, **QUICK).translations(texts)
            for each in (trained_in_bfloat16, run)
        )
        for translations, wanted in zip(results, expected, strict=True):
            assert [each.text for each in translations] == [each.text for each in wanted]
            np.testing.assert_allclose(
                [each.score for each in translations], [each.score for each in wanted], rtol=1e-5
            )

    @pytest.mark.long
    def test_exports_float32_models(self, trained_in_bfloat16, tmp_path):
        path = trained_in_bfloat16.export(tmp_path / "model.keras", format="keras")
        assert keras.saving.load_model(path).dtype_policy.name == "float32"
        search = trained_in_bfloat16.engine(n_best=1, **QUICK).search
        version = trained_in_bfloat16.export(tmp_path, ids_only=True, **QUICK)
        exported = tf.saved_model.load(version).signatures["serving_default"]
        source = np.array([[5, 6, 7, 8, 2, 0], [9, 10, 2, 0, 0, 0]], "int32")
        together = exported(source=tf.constant(source))
        np.testing.assert_array_equal(together["ids"], search(Rows(source, [0, 1])).tokens[:, 0])
        alone = exported(source=tf.constant(source[1:, :3]))
        np.testing.assert_allclose(together["scores"][1:], alone["scores"], atol=1e-5)


def test_an_export_of_a_model_in_bfloat16_is_refused(trained_in_bfloat16, tmp_path):
    model = trained_in_bfloat16.experiment().new_model()
    with pytest.raises(ValueError, match=r"dtype_policy` must be float32.*='mixed_bfloat16'"):
        save_ids_model(tmp_path / "1", model, SearchConfig())
