"""An ensemble of models that decodes with the mean of their log-probabilities."""

from t2t_keras.checks import check
from t2t_keras.ops import ops


class Ensemble:
    """Decodes like a `Transformer`. The logits are the mean of the models' log-probabilities.

    The mean is a log-probability up to a constant, which the search removes when it normalizes the
    logits.

    Args:
        models: `Transformer`s with the same vocabulary; everything else may differ.
    """

    def __init__(self, models):
        check(len(models) > 0, "models", models, "one or more models")
        sizes = [model.config.vocab_size for model in models]
        check(len(set(sizes)) == 1, "models", sizes, "models with one vocabulary")
        self.models = list(models)

    @property
    def longest(self):
        """The smallest `longest` of the models, or None if no model has a limit."""
        limits = [model.longest for model in self.models if model.longest is not None]
        return min(limits, default=None)

    def __call__(self, inputs):
        return mean_log_probabilities([model(inputs) for model in self.models])

    def start_decoding(self, source, max_length, beams=1):
        states = [model.start_decoding(source, max_length, beams) for model in self.models]
        memories, caches = zip(*states, strict=True)
        return list(memories), list(caches)

    def extend_cache(self, cache, max_length, beams=1):
        return [
            model.extend_cache(model_cache, max_length, beams)
            for model, model_cache in zip(self.models, cache, strict=True)
        ]

    def decode_step(self, tokens, position, cache, memory, visible=None):
        results = [
            model.decode_step(tokens, position, model_cache, model_memory, visible)
            for model, model_cache, model_memory in zip(self.models, cache, memory, strict=True)
        ]
        logits, caches = zip(*results, strict=True)
        return mean_log_probabilities(logits), list(caches)


def mean_log_probabilities(logits):
    """Averages the log-probabilities of several models, given the logits of each."""
    return sum(ops.log_softmax(each) for each in logits) / len(logits)
