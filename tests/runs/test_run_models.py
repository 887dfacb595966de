"""A rival's run: every command's function takes it without a line of its own."""

import dataclasses
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.models.rival_models import RIVALS

from pipelines.tokenizers import load_tokenizer
from t2t_keras.experiment import Experiment
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.models import architecture_of
from t2t_keras.runs import Run
from t2t_keras.runs.settings_file import check_same_model, read_config, read_settings
from t2t_keras.runs.training.run_start import begin
from t2t_keras.training.checkpoints import model_state
from t2t_keras.transformer_config import TransformerConfig
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.translator import Translator

RIVAL_NAMES = ["gnmt", "moe", "convs2s", "bytenet"]
TEXTS = ["The dog sleeps.", "", "The cat sleeps."]


@pytest.fixture(params=RIVAL_NAMES, scope="module")
def run(request, vocabulary, tmp_path_factory):
    experiment = Experiment(dataclasses.replace(RIVALS[request.param][1], vocab_size=400))
    experiment.search.beam, experiment.search.extra_length = 2, 2
    run = Run(tmp_path_factory.mktemp("rivals") / request.param)
    begin(run, experiment, load_tokenizer(vocabulary))
    keras.utils.set_random_seed(0)
    run.averaged.write(model_state(experiment.new_model()), None, None)
    return run


@pytest.mark.long
def test_the_settings_and_the_report_name_the_model(run, tmp_path):
    config = run.experiment().model
    assert read_config(run.config_file)["architecture"] == architecture_of(config)
    assert type(read_settings(run.config_file).model) is type(config)
    started = f"started with the model '{architecture_of(config)}'. Received: 'transformer'"
    with pytest.raises(ValueError, match=re.escape(started)):
        check_same_model(run.config_file, Experiment(TransformerConfig(vocab_size=400)))
    page = run.report(path=tmp_path / "page.html").read_text(encoding="utf-8")
    name = type(config).__name__.removesuffix("Config")
    assert f"A {name} with {config.layers[0]} + {config.layers[1]} layers" in page
    assert f"<code>model.units</code></td><td><code>{config.units}</code></td><td><code>–" in page
    with pytest.raises(ValueError, match="CTranslate2 has no other models"):
        save_ctranslate2(run.model(), [str(i) for i in range(400)], tmp_path / "export")


@pytest.mark.parametrize(
    "run",
    [
        pytest.param("gnmt", marks=pytest.mark.long),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in RIVAL_NAMES[1:]),
    ],
    indirect=True,
)
def test_an_export_translates_as_its_run_and_shows_attention(run):
    theirs = run.translator(n_best=2).translations(TEXTS)
    engine = SavedModelEngine(run.export())
    for one, other in zip(Translator(engine).translations(TEXTS, n_best=2), theirs, strict=True):
        assert [each.text for each in one] == [each.text for each in other]
        scores = ([each.score for each in row] for row in (one, other))
        np.testing.assert_allclose(*scores, rtol=1e-4)
    layers = run.experiment().model.attention_layers[2]
    assert ("attention" in engine.signatures) == bool(layers)
    if layers:
        pair = {"text": tf.constant(TEXTS[:1]), "translation": tf.constant(["Der Hund"])}
        weights = engine.signatures["attention"](**pair)["cross"]
        assert weights.shape[1] == layers
        np.testing.assert_allclose(np.sum(weights, axis=-1), 1, atol=1e-5)


@pytest.mark.long
def test_translations_are_scored_and_aligned(run):
    translator = run.translator()
    (translation,) = translator.translations(TEXTS[:1], n_best=1)[0]
    assert translation.text and run.score([(TEXTS[0], translation.text)])[0].log_p < 0
    layers = run.experiment().model.attention_layers[2]
    if not layers:
        with pytest.raises(ValueError, match="no attention to the source, so its words cannot be"):
            translator.translations(TEXTS[:1], alignments=True)
        with pytest.raises(ValueError, match="no attention to show: it is a ByteNet"):
            run.attention(TEXTS[0], "Der Hund")
        return
    ((aligned,),) = translator.translations(TEXTS[:1], n_best=1, alignments=True)
    assert sorted(target for _, target in aligned.alignment) == [*range(len(aligned.words.target))]
    heads = run.attention(TEXTS[0], "Der Hund").heads
    assert [(each.stack, each.kind) for each in heads] == [("decoder", "cross_attention")] * layers
    for head in heads:
        np.testing.assert_allclose(head.weights.sum(axis=-1), 1, atol=1e-5)
