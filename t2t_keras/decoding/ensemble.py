"""Several models that decide together: the mean of their log-probabilities."""

from keras import ops

from t2t_keras.checks import check


class Ensemble:
    """Decodes as a `Transformer` does, with what its models find likely on the whole.

    The mean of their log-probabilities is the logarithm of a probability up to a constant: the
    search divides by what all tokens have together, as it does with any logits.

    Args:
        models: `Transformer`s with the same vocabulary; they may differ in everything else.
    """

    def __init__(self, models):
        check(len(models) > 0, "models", models, "one or more models")
        sizes = [model.config.vocab_size for model in models]
        check(len(set(sizes)) == 1, "models", sizes, "models with one vocabulary")
        self.models = list(models)

    @property
    def longest(self):
        known = [model.longest for model in self.models if model.longest is not None]
        return min(known, default=None)

    def __call__(self, inputs):
        return mean_of([model(inputs) for model in self.models])

    def start_decoding(self, source, max_length, beams=1):
        started = [model.start_decoding(source, max_length, beams) for model in self.models]
        memories, caches = zip(*started, strict=True)
        return list(memories), list(caches)

    def decode_step(self, tokens, position, cache, memory, visible=None):
        stepped = [
            model.decode_step(tokens, position, its_cache, its_memory, visible)
            for model, its_cache, its_memory in zip(self.models, cache, memory, strict=True)
        ]
        logits, caches = zip(*stepped, strict=True)
        return mean_of(logits), list(caches)


def mean_of(logits):
    return sum(ops.log_softmax(each) for each in logits) / len(logits)
