"""Chooses the weights of a trained run: averaged, as in the paper, unless others are better.

Averaging helps if the learning rate stays high until the end. If it falls to 0, the average
includes earlier, worse weights, and may be worse than the newest weights.
"""

import functools

from absl import logging

from t2t_keras.evaluation.bleu import paired_bleu
from t2t_keras.runs.training.weights_comparison import Compared, best_of, comparison_text
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.training.checkpoints import DamagedCheckpoint
from t2t_keras.translating.engines.model import ModelEngine
from t2t_keras.translating.translator import Translator

AVERAGED = "averaged"
LINES = 1000  # maximum number of lines of the main held-out set for the comparison
FEWEST = 100  # minimum number of held-out lines; with fewer, a bootstrap test says little


class FinalWeights:
    """The choice among the weights of a finished run, and their translations.

    Args:
        run: a `Run` with averaged weights.
        held_out: the run's `HeldOut` sets, the main set first.
    """

    def __init__(self, run, held_out):
        self.run, self.held_out = run, list(held_out)

    def choose_if_missing(self, show):
        """Compares the weights and records the choice, unless it is recorded or not needed.

        Args:
            show: called with a line about the comparison.

        Returns:
            Whether the choice is new.
        """
        key, record = self.run.averaged.digest(), self.run.averaged.record()
        if self.run.experiment().training.average == "always":
            return self.return_to_averaged(key, record, show)
        held_out = self.held_out and len(self.held_out[0].sources) >= FEWEST
        if "chosen" in record or not held_out:
            return False
        candidates = self.candidates(record)
        if len(candidates) == 1:
            return False
        main = self.held_out[0]
        compared = self.compared(candidates, main)
        facts = {
            "chosen": best_of(compared).weights,
            "compared": [each._asdict() for each in compared],
            "compared_on": {"set": main.name, "lines": len(sample(main.sources))},
        }
        self.run.averaged.add(key, **facts)
        show(comparison_text(facts))
        return True

    def return_to_averaged(self, key, record, show):
        """Replaces an earlier choice of other weights. Returns whether there was one."""
        if record.get("chosen", AVERAGED) == AVERAGED:
            return False
        self.run.averaged.add(key, chosen=AVERAGED)
        show("Chosen: averaged (training.average)")
        return True

    def candidates(self, record):
        """Returns the weights to compare: {step or "averaged": name}."""
        steps = self.run.checkpoints.steps()
        if record["steps"] == steps[-1:]:  # the mean of a single checkpoint
            return {AVERAGED: AVERAGED}
        candidates = {AVERAGED: AVERAGED, str(steps[-1]): "newest"}
        if (best := self.run.checkpoints.best()) is not None:
            candidates.setdefault(str(best), "best")
        return candidates

    def compared(self, candidates, held_out):
        """Returns a `Compared` for each candidate, the averaged weights first."""
        sources, references = sample(held_out.sources), sample(held_out.references)
        search = self.search(held_out.tag)
        outputs = {}
        for weights in candidates:
            try:
                self.load(weights)
            except DamagedCheckpoint as error:
                logging.warning("%s. It is left out of the comparison", error)
            else:
                outputs[weights] = search.translate(sources)
        scores = paired_bleu(list(outputs.values()), references)
        return [
            Compared(candidates[weights], weights, score.score, score.p_value)
            for weights, score in zip(outputs, scores, strict=True)
        ]

    def translate(self, held_out, weights):
        """Returns the `TranslationResults` of a held-out set, translated with some weights."""
        self.load(weights)
        held_out.translator = self.search(held_out.tag)
        return held_out.translate()

    @functools.cached_property
    def model(self):
        """The model into which all weights are loaded. Its graphs are traced and compiled once."""
        return self.run.new_model(self.run.weights_file(AVERAGED))

    def load(self, weights):
        self.run.load_weights(self.model, weights)

    def search(self, tag):
        """Returns a `Translator` with the run's own search."""
        return Translator(self.engine, tag or self.run.to)

    @functools.cached_property
    def engine(self):
        run = self.run
        trees = functools.partial(tree_constraint, run)
        attributes = {"split": "off", "tags": run.tags(), "name": run.folder}
        return ModelEngine(self.model, run.vocabulary(), run.search(), trees, **attributes)


def sample(lines):
    """Returns at most `LINES` of the lines, evenly spread."""
    count = min(len(lines), LINES)
    return [lines[index * len(lines) // count] for index in range(count)]
