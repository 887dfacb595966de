"""A small parser for about 20,000 trees: `parsing` with an eighth of its width.

    t2t-prepare --config=small_treebank --treebank=train.trees --leaves=word --output=data/trees
    t2t-train --config=small_treebank:short --data=data/trees --run=runs/short --noexport
    t2t-train --config=small_treebank --init=runs/short --data=data/trees --run=runs/trees
    t2t-evaluate runs/trees --treebank=dev.trees --constrain=tree

`t2t-reproduce table4 --reduced=small_treebank --first=small_treebank:short` does all of it.

The first training, `small_treebank:short`, uses only short sentences, and the leaves of the trees
are the words. With XX for every word, or with long sentences from the start, a post-norm model of
this size soon wrote trees, but ignored the sentence for thousands of steps. With pre-norm, a model
with four layers begins to learn as early as one with two. For runs and their scores, see "Table 4"
in t2t_keras/reproduction/RESULTS.md.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import load_experiment

VARIANTS = ("", "short")


def get_config(variant=""):
    check_choice("variant", variant, VARIANTS)
    experiment = load_experiment("parsing")
    model, training, data = experiment.model, experiment.training, experiment.data
    model.d_model, model.d_ff, model.num_heads = 128, 512, 4
    model.pre_norm, model.dropout, model.attention_dropout = True, 0.15, 0.0
    training.steps, training.warmup_steps = 12_000, 500
    training.schedule, training.learning_rate, training.clip_norm = "linear", 1.5e-3, 1.0
    training.precision, training.checkpoint_every = "mixed_bfloat16", 250
    model.vocab_size = data.vocabulary.size = 4000
    data.batches.tokens, data.batches.max_length = 4096, 300
    if variant == "short":
        model.dropout = 0.1
        training.steps, training.warmup_steps = 1200, 300
        training.schedule, training.learning_rate = "inverse_sqrt", 2e-3
        data.batches.tokens, data.batches.max_length = 2048, 63
    return experiment
