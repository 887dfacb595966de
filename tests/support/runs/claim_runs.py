"""Runs for the experiments on the paper's claims, with learning curves that nobody trained."""

from t2t_keras.reproduction import Plan
from t2t_keras.reproduction.claims.toy_runs import ToyRuns


class CurveOnly:
    """A run of which only its evaluations exist."""

    def __init__(self, name, perplexity):
        self.name, self.perplexity = name, perplexity

    def evaluations(self, required=False):
        final = {"step": 200, "perplexity": self.perplexity, "bleu": 100 / self.perplexity}
        return [{"step": 100, "perplexity": 2 * self.perplexity, "bleu": 1.0}, final]


class UntrainedRuns(ToyRuns):
    """Records the variants that an experiment asks for; the n-th one has the perplexity n + 1."""

    def __init__(self, folder, overrides=None):
        super().__init__(Plan("claims", output=folder, overrides=overrides))
        self.changes, self.texts, self.configs = {}, {}, {}

    def trained(self, name, changes, text=None, config=None):
        self.recipe(changes, config)  # raises if a setting is wrong
        self.changes.setdefault(name, changes)
        self.texts[name], self.configs[name] = text, config
        return CurveOnly(name, 2.0 + list(self.changes).index(name))
