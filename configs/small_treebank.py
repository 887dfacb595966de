"""A small parser for about 20,000 trees: `parsing` with an eighth of its width.

    t2t-prepare --config=small_treebank --treebank=train.trees --leaves=word --output=data/trees
    t2t-train --config=small_treebank --data=data/trees --run=runs/trees \\
        --config.training.steps=2200 --config.data.batches.max_length=60
    t2t-train --config=small_treebank --data=data/trees --run=runs/trees
    t2t-evaluate runs/trees --treebank=dev.trees

The first 2,200 steps train on short sentences, and the leaves of the trees are the words. With XX
for every word and sentences of every length, a model of this size learned in 2,500 steps what
trees look like, but ignored the sentence. It learns to copy words early, and with it to follow the
sentence. For a similar run and its scores see "Table 4" in t2t_keras/reproduction/README.md.
"""

from t2t_keras.checks import check
from t2t_keras.experiment import load_experiment


def get_config(variant=""):
    check(not variant, "variant", variant, "empty: this config has no variants")
    experiment = load_experiment("parsing")
    model, training, data = experiment.model, experiment.training, experiment.data
    model.d_model, model.d_ff, model.num_heads = 128, 256, 4
    model.dropout, model.attention_dropout = 0.1, 0.0
    training.steps, training.warmup_steps, training.learning_rate = 7000, 800, 0.7
    training.checkpoint_every = 200
    model.vocab_size = data.vocabulary.size = 8000
    data.batches.tokens, data.batches.max_length = 4096, 300
    return experiment
