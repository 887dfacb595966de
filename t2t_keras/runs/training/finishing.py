"""Finishes a training: averages, chooses, scores and exports the run's weights.

The averaged weights are chosen, as in the paper, unless others are significantly better. Averaging
helps if the learning rate stays high until the end. If it falls to 0, the average includes earlier,
worse weights, and may be worse than the newest weights.
"""

import functools
from typing import NamedTuple

from pipelines.atomic_files import digest
from t2t_keras.evaluation.bleu import paired_bleu
from t2t_keras.runs.exports.exporting import renew
from t2t_keras.training.logs.console import example_lines
from t2t_keras.translating.translator import Translator

AVERAGED = "averaged"
LAST = 5  # number of checkpoints to average (§6.1); `Run.average` can average more
LINES = 1000  # maximum number of lines of the main held-out set for the comparison
FEWEST = 100  # minimum number of held-out lines; with fewer, a bootstrap test says little
SIGNIFICANT = 0.05


class Compared(NamedTuple):
    """Weights that took part in a comparison."""

    name: str  # "averaged", "newest" or "best"
    weights: str  # in the run: "averaged", or the step of a checkpoint
    bleu: float
    # p-value for the null hypothesis that they are as good as the averaged weights; None for these
    p_value: float | None

    def __str__(self):
        if self.p_value is None:
            return f"{self.name} {self.bleu:.1f}"
        return f"{self.name} (step {int(self.weights):,}) {self.bleu:.1f} (p = {self.p_value:.3f})"


def finish(run, trainer, export, show):
    """Finishes a run. Each part of the work is done only if it is missing.

    Averaged weights that t2t-average made after the last step are kept. If `export`, writes a
    SavedModel and a model for LiteRT. Calls `show` with each line about the results. Returns the
    folder of the SavedModel that was written, or None.
    """
    lines = []

    def note(line):
        lines.append(line)
        show(line)

    average_if_missing(run, trainer.step, note)
    final = FinalWeights(run, trainer.held_out)
    final.choose_if_missing(note)
    final.score_if_missing(note)
    exported = renew(run, note, at_least=("saved_model", "litert")) if export else {}
    if not lines and trainer.stopped_early:
        show(
            f"{run.folder} ended at step {trainer.step:,}: {trainer.early_stopping.reason}. "
            "To train on, increase training.patience"
        )
    elif not lines:
        show(f"{run.folder} is already trained to its last step, {trainer.step:,}")
    return exported.get("saved_model")


def average_if_missing(run, step, show):
    record = run.averaged.record()
    if record and record["newest_checkpoint"] == run.checkpoints.digest(step):
        return
    steps = run.average(min(LAST, len(run.checkpoints.latest())))
    listed = ", ".join(f"{step:,}" for step in steps)
    show(f"{run.averaged_weights}: mean of the checkpoints of steps {listed}")


class FinalWeights:
    """The choice among the weights of a finished `Run`, and their scores on its `HeldOut` sets."""

    def __init__(self, run, held_out):
        self.run, self.held_out = run, list(held_out)

    @functools.cached_property
    def engine(self):
        """The engine whose model gets all weights: its graphs are traced and compiled once."""
        model = self.run.new_model(self.run.weights_file(AVERAGED))
        return self.run.engine_with(model, split="off")

    def translator(self, weights, tag):
        """Returns a `Translator` with some weights and the run's own search, until the next one."""
        self.run.load_weights(self.engine.model, weights)
        return Translator(self.engine, tag or self.run.to)

    def choose_if_missing(self, show):
        """Compares the weights and records the choice, unless it is recorded or not needed."""
        key, record = self.run.averaged.digest(), self.run.averaged.record()
        if self.run.experiment().training.average == "always":
            if record.get("chosen", AVERAGED) != AVERAGED:
                self.run.averaged.add(key, chosen=AVERAGED)
                show("Chosen: averaged (training.average)")
            return
        if "chosen" in record or not self.held_out or len(self.held_out[0].sources) < FEWEST:
            return
        candidates = self.candidates(record)
        if len(candidates) == 1:
            return
        main = self.held_out[0]
        sources, references = sample(main.sources), sample(main.references)
        outputs = [self.translator(each, main.tag).translate(sources) for each in candidates]
        compared = [
            Compared(candidates[weights], weights, score.score, score.p_value)
            for weights, score in zip(candidates, paired_bleu(outputs, references), strict=True)
        ]
        facts = {
            "chosen": best_of(compared).weights,
            "compared": [each._asdict() for each in compared],
            "compared_on": {"set": main.name, "lines": len(sources)},
        }
        self.run.averaged.add(key, **facts)
        show(comparison_text(facts))

    def candidates(self, record):
        """Returns the weights to compare, the averaged ones first: {step or "averaged": name}."""
        steps = self.run.checkpoints.steps()
        if record["steps"] == steps[-1:]:  # the mean of a single checkpoint
            return {AVERAGED: AVERAGED}
        candidates = {AVERAGED: AVERAGED, str(steps[-1]): "newest"}
        if (best := self.run.checkpoints.best()) is not None:
            candidates.setdefault(str(best), "best")
        return candidates

    def score_if_missing(self, show):
        """Measures BLEU of the chosen weights on each held-out set, unless it is recorded."""
        key, known = self.run.averaged.digest(), self.run.averaged.record().get("bleu", {})
        weights, search = self.run.default_weights(), self.run.search()
        for each in self.held_out:
            of = digest(f"{each.digest} {search} {weights}".encode())
            if known.get(each.name, {}).get("of") == of:
                continue
            each.translator = self.translator(weights, each.tag)
            results = each.translate()
            score, signature = (results.metrics[name] for name in ("bleu", "bleu_signature"))
            show(f"BLEU {score:.1f}{f' on {each.name}' if each.name else ''} ({signature})")
            for line in example_lines(results.examples):
                show(line)
            known |= {each.name: {"of": of, "score": score, "signature": signature}}
            self.run.averaged.add(key, bleu=known)


def sample(lines):
    """Returns at most `LINES` of the lines, evenly spread."""
    count = min(len(lines), LINES)
    return [lines[index * len(lines) // count] for index in range(count)]


def best_of(compared):
    """Returns the best weights that are significantly better than the averaged ones, or these."""
    averaged, *others = compared
    better = [each for each in others if each.bleu > averaged.bleu and each.p_value < SIGNIFICANT]
    return max(better, key=lambda each: each.bleu, default=averaged)


def comparison_text(record):
    """Describes the comparison in a record of averaged weights. Returns None if it has none."""
    if "compared" not in record:
        return None
    compared = [Compared(**each) for each in record["compared"]]
    (chosen,) = (each.name for each in compared if each.weights == record["chosen"])
    name, lines = record["compared_on"]["set"], record["compared_on"]["lines"]
    of = f" of {name}" if name else ""
    return (
        f"BLEU on {lines:,} held-out lines{of}: {', '.join(map(str, compared))}. Chosen: {chosen}"
    )
