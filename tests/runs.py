"""What the tests of commands need that use a run: one that costs no training."""

from pipelines.normalization import Normalization
from pipelines.tokenizers import save_tokenizer
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn
from t2t_keras.cli.runs import Run
from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig


def fresh_run(folder, **settings):
    """A run that was never trained, but has all that a run has; returns its folder."""
    texts = map(Normalization(), (side for pair in pairs(300) for side in pair))
    tokenizer = learn(texts, VocabularyConfig(size=400))
    save_tokenizer(tokenizer, folder.parent / "vocabulary")
    model = {"vocab_size": 400, "num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2}
    experiment = Experiment(
        model=TransformerConfig(**model | settings),
        training=TrainingConfig(evaluate_every=700),
    )
    run = Run(folder)
    run.begin(experiment, folder.parent / "vocabulary")
    run.experiment().new_model().save_weights(run.averaged_weights)
    return folder
