"""A small parser for about 20,000 trees: `parsing` with an eighth of its width.

    t2t-prepare --config=small_treebank --treebank=train.trees --leaves=word --output=data/trees
    t2t-train --config=small_treebank --data=data/trees --run=runs/trees \\
        --config.training.steps=2200 --config.data.batches.max_length=60
    t2t-train --config=small_treebank --data=data/trees --run=runs/trees
    t2t-evaluate runs/trees --treebank=dev.trees

The first 2,200 steps train on short sentences only, and the words are the leaves of the trees. In
2,500 steps on sentences of every length, with XX for every word, a model of this size learned what
trees look like but ignored the sentence. With words as leaves, it soon learns to copy them, and
thereby to follow the sentence. For a similar run and its scores, see "Table 4" in
t2t_keras/reproduction/README.md.
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
