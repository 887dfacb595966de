"""Runs with random weights, created in a second. They write a few words and end."""

import functools
import re

import keras

from pipelines.data_config import DataConfig
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.runs import Run
from t2t_keras.runs.training.run_start import begin
from t2t_keras.training.checkpoints import model_state, named
from t2t_keras.transformer_config import TransformerConfig

SMALL = {"vocab_size": 400, "num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2}
QUICK = {"beam": 1, "extra_length": 3}  # a search whose graph is traced quickly


@functools.cache
def learned_tokenizer():
    return learn([text for pair in pairs(200) for text in pair], VocabularyConfig(size=400))


def tiny_experiment(**data):
    """Returns an `Experiment` with a small vocabulary of the toy grammar."""
    experiment = load_experiment("quickstart")
    experiment.data = DataConfig(vocabulary=VocabularyConfig(size=400), **data)
    return experiment


def toy_tokenizer(folder):
    """Writes a vocabulary of 400 pieces to a folder and returns its tokenizer."""
    tokenizer = learned_tokenizer()
    save_tokenizer(tokenizer, folder)
    return tokenizer


def untrained_run(folder, vocabulary, tokenizer, end=6.0, extra_length=50, **settings):
    """Returns a `Run` with averaged weights that favor pieces such as " mein".

    Such an output has the same pieces when it is read again.

    Args:
        folder: path of the run's folder.
        vocabulary, tokenizer: as written by `toy_tokenizer`.
        end: bias of the end token; outputs are long at 4 and often empty at 6.
        extra_length: setting of the search.
        **settings: further settings of the model.
    """
    experiment = Experiment(TransformerConfig(**SMALL, output_bias=True, **settings))
    experiment.search.extra_length = extra_length
    bias = [4.0 * bool(re.match(r"▁[a-z]{3}", piece)) for piece in tokenizer.pieces(range(400))]
    bias[2] = end
    run = Run(folder)
    begin(run, experiment, load_tokenizer(vocabulary))
    keras.utils.set_random_seed(0)
    model = experiment.new_model()
    model.embedding.bias.assign(bias)
    run.averaged.write(model_state(model), None, None)
    return run


def save_checkpoint(run, step, **notes):
    """Saves a checkpoint with weights that depend on the step, without the optimizer's state."""
    keras.utils.set_random_seed(step)
    weights = named("model", run.experiment().new_model().variables)
    run.checkpoints.save(step, {name: array.numpy() for name, array in weights.items()}, notes)
