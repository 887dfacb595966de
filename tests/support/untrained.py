"""Runs that have learned nothing: made in a second, they write a few words and end."""

import re

from pipelines.tokenizers import save_tokenizer
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn
from t2t_keras.experiment import Experiment
from t2t_keras.runs import Run
from t2t_keras.transformer_config import TransformerConfig

SMALL = {"vocab_size": 400, "num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2}


def toy_tokenizer(folder):
    """Learns 400 pieces, writes them into the folder, and returns the tokenizer."""
    tokenizer = learn([text for pair in pairs(200) for text in pair], VocabularyConfig(size=400))
    save_tokenizer(tokenizer, folder)
    return tokenizer


def untrained_run(folder, vocabulary, tokenizer, end=6.0, **settings):
    """A `Run` that writes whole words, so that what it writes has the same pieces when read.

    How many it writes depends on `end`, the bias of the end.
    """
    experiment = Experiment(TransformerConfig(**SMALL, output_bias=True, **settings))
    likely = [4.0 * bool(re.match(r"▁[a-z]{3}", p)) for p in tokenizer.pieces(range(400))]
    likely[2] = end
    run = Run(folder)
    run.begin(experiment, vocabulary)
    model = experiment.new_model()
    model.embedding.bias.assign(likely)
    model.save_weights(run.averaged_weights)
    return run
