"""Runs with random weights that write the brackets of trees, or try to."""

import json

import keras
import numpy as np

from pipelines.text.treebank import TreebankPairs
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from t2t_keras.experiment import Experiment
from t2t_keras.runs import Run
from t2t_keras.runs.training.run_start import begin
from t2t_keras.training.checkpoints import model_state
from t2t_keras.transformer_config import TransformerConfig

SIZE = 310
TREES = [
    "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)))",
    "(NP (NN unmistakable) (NNS zebras))",
    "(S (NP (PRP it)) (VP (VBZ rains)))",
    "(X (X (NN x) (-NONE- *)))",
]


def untrained_parser(folder, leaves, extra_length=20):
    """Returns a `Run` with averaged weights, and the path of a treebank."""
    folder.mkdir(parents=True)
    treebank, data = folder / "gold.mrg", folder / "data"
    treebank.write_text("".join(f"{tree}\n" for tree in TREES))
    pairs = TreebankPairs(str(treebank), leaves)
    texts = [text.decode() for pair in pairs for text in pair]
    config = VocabularyConfig(size=SIZE, symbols=tuple(pairs.symbols()))
    save_tokenizer(learn(texts, config), data / "vocabulary")
    (data / "preparation.json").write_text(json.dumps({"leaves": [leaves, False]}))
    model = TransformerConfig(vocab_size=SIZE, num_layers=1, d_model=16, d_ff=16, num_heads=2)
    experiment = Experiment(model)
    experiment.search.extra_length, experiment.data.folder = extra_length, str(data)
    run = Run(folder / "run")
    begin(run, experiment, load_tokenizer(data / "vocabulary"))
    keras.utils.set_random_seed(0)
    model = experiment.new_model()
    random = np.random.default_rng(1)
    for weight in model.weights:  # large enough that outputs differ
        if len(weight.shape) == 2:
            weight.assign(random.normal(0, 0.5, weight.shape).astype("float32"))
    run.averaged.write(model_state(model), None, None)
    return run, str(treebank)
