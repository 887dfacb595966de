"""A rival's run: every command's function takes it without a line of its own."""

import dataclasses
import re

import keras
import numpy as np
import pytest
from support.models.rival_models import RIVALS
from support.runs.untrained import toy_tokenizer
from support.serving.serving_client import get, predict, served

from t2t_keras.experiment import Experiment
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.models import architecture_of
from t2t_keras.runs import Run
from t2t_keras.runs.settings_file import check_same_model, read_config, read_settings
from t2t_keras.runs.training.run_start import begin
from t2t_keras.transformer_config import TransformerConfig
from t2t_keras.translating.find import load_translator

TEXTS = ["The dog sleeps.", "", "The cat sleeps."]
TESTED = ("gnmt", "moe", "convs2s", "bytenet")


@pytest.fixture(params=TESTED, scope="module")
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivals")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    config = dataclasses.replace(RIVALS[request.param][1], vocab_size=400)
    experiment = Experiment(config)
    experiment.search.extra_length = 2
    run = Run(folder / request.param)
    begin(run, experiment, folder / "vocabulary")
    keras.utils.set_random_seed(0)
    experiment.new_model().save_weights(run.averaged_weights)
    assert tokenizer.target.size == 400
    return run


def test_the_settings_name_the_model(run):
    config = run.experiment().model
    assert read_config(run.config_file)["architecture"] == architecture_of(config)
    assert type(read_settings(run.config_file).model) is type(config)
    started = f"started with the model '{architecture_of(config)}'. Received: 'transformer'"
    with pytest.raises(ValueError, match=re.escape(started)):
        check_same_model(run.config_file, Experiment(TransformerConfig(vocab_size=400)))


@pytest.fixture(scope="module")
def exported(run):
    return run.export(beam=2).parent


@pytest.mark.long
def test_an_export_translates_as_its_run(run, exported):
    theirs = run.translator(n_best=2, beam=2).translations(TEXTS)
    ours = load_translator(exported).translations(TEXTS, n_best=2)
    for one, other in zip(ours, theirs, strict=True):
        assert [each.text for each in one] == [each.text for each in other]
        np.testing.assert_allclose(
            [each.score for each in one], [each.score for each in other], rtol=1e-4
        )


@pytest.mark.long
def test_the_server_translates_as_its_run_and_shows_attention(run, exported):
    best = [each.text for (each,) in run.translator(n_best=1, beam=2).translations(TEXTS)]
    name = f"v1/models/{run.folder.name}"
    with served(exported) as (_, address):
        status, answer = predict(address, {"inputs": TEXTS}, f"{name}:predict")
        assert (status, answer["outputs"]["translations"]) == (200, best)
        layers = run.experiment().model.attention_layers[2]
        _, offered = get(address, f"{name}/metadata")
        signatures = offered["metadata"]["signature_def"]["signature_def"]
        assert ("attention" in signatures) == bool(layers)
        if layers:
            pair = {"text": TEXTS[:1], "translation": ["Der Hund"]}
            body = {"signature_name": "attention", "inputs": pair}
            status, answer = predict(address, body, f"{name}:predict")
            weights = np.array(answer["outputs"]["cross"])
            assert (status, weights.shape[1]) == (200, layers)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.long
def test_translations_are_scored_and_aligned(run):
    (translation,) = run.translator(beam=2).translations(TEXTS[:1])[0]
    assert translation.text
    score = run.score([(TEXTS[0], translation.text)])[0]
    assert score.log_p < 0
    layers = run.experiment().model.attention_layers[2]
    translator = run.translator(beam=2)
    if not layers:
        with pytest.raises(ValueError, match="no attention to the source, so its words cannot be"):
            translator.translations(TEXTS[:1], alignments=True)
        with pytest.raises(ValueError, match="no attention to show: it is a ByteNet"):
            run.attention(TEXTS[0], "Der Hund")
        return
    ((aligned,),) = translator.translations(TEXTS[:1], n_best=1, alignments=True)
    assert [target for _, target in sorted(aligned.alignment, key=lambda pair: pair[1])] == [
        *range(len(aligned.words.target))
    ]
    heads = run.attention(TEXTS[0], "Der Hund").heads
    assert [(each.stack, each.kind) for each in heads] == [("decoder", "cross_attention")] * layers
    for head in heads:
        np.testing.assert_allclose(head.weights.sum(axis=-1), 1, atol=1e-5)


def test_ctranslate2_refuses_it(run, tmp_path):
    with pytest.raises(ValueError, match="CTranslate2 has no other models"):
        save_ctranslate2(run.model(), [str(i) for i in range(400)], tmp_path / "export")


def test_its_report_names_the_model_and_its_settings(run, tmp_path):
    page = run.report(path=tmp_path / "page.html").read_text(encoding="utf-8")
    config = run.experiment().model
    name = type(config).__name__.removesuffix("Config")
    assert f"A {name} with {config.layers[0]} + {config.layers[1]} layers" in page
    assert f"<code>model.units</code></td><td><code>{config.units}</code></td><td><code>–" in page
