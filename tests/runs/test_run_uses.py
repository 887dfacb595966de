import keras
import pytest
from support.runs.untrained import QUICK

from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.runs import load_translator
from t2t_keras.runs.training.run_start import begin


def test_a_model_is_loaded_again_only_for_different_or_newer_weights(copied):
    first = copied.loaded("best")
    assert copied.loaded("best") is first
    assert copied.loaded("newest") is not first
    assert copied.loaded("best") is not first, "one model is kept at a time"


def test_an_engine_is_kept_for_each_search(run):
    engine = run.engine(**QUICK)
    run.engine(beam=2)
    assert run.engine(None, **QUICK) is engine and run.engine(beam=2) is not engine
    assert run.translator(**QUICK).engine is engine
    assert run.translator().engine.log_p_graph is engine.log_p_graph


def test_the_best_translation_of_each_text_is_returned_split_only_if_asked_for(run):
    texts, counts = ["The dog sleeps. A cat drinks!", "", "The cat sleeps."], []
    found = run.translate(texts, on_progress=counts.append, **QUICK)
    translations = run.translator(n_best=1, **QUICK).translations(texts, split="off")
    assert found == [each[0].text for each in translations]
    assert found[1] == "" and found[2] and counts[-1] == 3
    split = run.translate(texts[0], split="auto", **QUICK)
    assert split == " ".join(run.translate(["The dog sleeps.", "A cat drinks!"], **QUICK))
    assert split == run.translator(**QUICK).translate(texts[0]), "the default of a Translator"


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


def test_a_run_trained_in_bfloat16_computes_in_float32(copied, tmp_path):
    """So no result depends on the other texts of a batch."""
    experiment = copied.experiment()
    experiment.training.precision = "mixed_bfloat16"
    begin(copied, experiment, copied.vocabulary())
    assert copied.loaded(None).dtype_policy.name == "float32"
    path = copied.export(tmp_path / "model.keras", format="keras")
    assert keras.saving.load_model(path).dtype_policy.name == "float32"
