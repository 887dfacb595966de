"""Finishes a training: averages, chooses, scores and exports the run's weights."""

from absl import logging

from pipelines.atomic_files import digest
from t2t_keras.runs.exports.exporting import renew
from t2t_keras.runs.training.final_weights import AVERAGED, FinalWeights
from t2t_keras.training.logs.console import example_lines

LAST = 5  # number of checkpoints to average (§6.1); `Run.average` can average more


def finish(run, trainer, export, show):
    """Finishes a run. Each part of the work is done only if it is missing.

    Averaged weights that t2t-average made after the last step are kept.

    Args:
        run: a `Run`.
        trainer: the run's `Trainer`, at its last step.
        export: whether to write a SavedModel and a model for LiteRT.
        show: called with each line about the results.

    Returns:
        The folder of the SavedModel that was written, or None.
    """
    averaged = average_if_missing(run, trainer, show)
    final = FinalWeights(run, trainer.held_out)
    chosen = final.choose_if_missing(show)
    scored = score_if_missing(run, final, show)
    exported = renew(run, show, at_least=("saved_model", "litert")) if export else {}
    if not any((averaged, chosen, scored, exported)):
        if trainer.stopped_early:
            show(
                f"{run.folder} ended at step {trainer.step:,}: {trainer.early_stopping.reason}. "
                "To train on, increase training.patience"
            )
        else:
            show(f"{run.folder} is already trained to its last step, {trainer.step:,}")
    return exported.get("saved_model")


def average_if_missing(run, trainer, show):
    record = run.averaged.record()
    if record and record["newest_checkpoint"] == run.checkpoints.digest(trainer.step):
        return False
    latest = run.latest_steps()
    missing = run.checkpoints.missing() if len(latest) < LAST else None
    if missing is not None:
        logging.warning(
            "%s is missing. Only the checkpoints after it are averaged",
            run.checkpoints.path(missing),
        )
    steps = run.average(min(LAST, len(latest)))
    listed = ", ".join(f"{step:,}" for step in steps)
    show(f"{run.averaged_weights}: mean of the checkpoints of steps {listed}")
    return True


def score_if_missing(run, final, show):
    """Measures the BLEU of the chosen weights on held-out sets, unless their record contains it.

    Args:
        run: a `Run`.
        final: the run's `FinalWeights`.
        show: see `finish`.
    """
    key, record = run.averaged.digest(), run.averaged.record()
    weights = run.default_weights()
    which = "" if weights == AVERAGED else weights
    named = record.get("bleu_by_set", {})
    missing = []
    for each in final.held_out:
        of = f"{[each.sources, each.references]} {run.search()}{which}"
        of = digest(of.encode())
        known = named.get(each.name, {}) if each.name else record.get("bleu", {})
        if known.get("of") != of:
            missing.append((each, of))
    for each, of in missing:
        results = final.translate(each, weights)
        score, signature = (results.metrics[name] for name in ("bleu", "bleu_signature"))
        show(f"BLEU {score:.1f}{f' on {each.name}' if each.name else ''} ({signature})")
        for line in example_lines(results.examples):
            show(line)
        facts = {"of": of, "score": score, "signature": signature}
        if each.name:
            named[each.name] = facts
        run.averaged.add(key, **({"bleu_by_set": named} if each.name else {"bleu": facts}))
    return bool(missing)
