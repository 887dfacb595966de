"""Documents of the toy grammar, with full or restricted self-attention (§4).

    t2t-prepare --config=documents --toy_documents=20000 --words=1500 --output=data/documents
    t2t-train --config=documents --data=data/documents --run=runs/full
    t2t-train --config=documents:restricted --data=data/documents --run=runs/restricted

In the restricted variant, a source position sees 64 positions: itself, 32 before it and 31 after
it. A target position sees itself and the 63 before it. A document of 1,500 words has about 2,250
tokens, and its translation has 2,700.
"""

from pipelines.batches.batch_plan import BatchConfig
from pipelines.text.cleaning_rules import CleaningConfig
from t2t_keras.checks import check_choice
from t2t_keras.experiment import load_experiment

VARIANTS = {"": None, "restricted": 64}


def get_config(variant=""):
    check_choice("variant", variant, VARIANTS)
    experiment = load_experiment("quickstart")
    model, training, data = experiment.model, experiment.training, experiment.data
    model.neighbourhood = model.decoder_neighbourhood = VARIANTS[variant]
    training.steps, training.warmup_steps = 4000, 400
    training.learning_rate = 0.5
    training.checkpoint_every = 100
    experiment.search.extra_length = 600  # the German documents have a fifth more tokens
    data.cleaning = CleaningConfig(max_characters=0)
    data.batches = BatchConfig(tokens=4096, buckets=10, max_length=3072, row_multiple=1)
    return experiment
