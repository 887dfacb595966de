"""Small models trained on the translations of large ones.

from t2t_keras.distillation import distill

print(distill(["runs/big"], "student:small", "runs/small", data="data/ende"))
"""

import importlib

from t2t_keras.distillation.plan import DistillationPlan

__all__ = ["DistillationPlan", "distill"]


def distill(teachers, experiment, folder, **settings):
    """Trains a student on the translations of teachers, and compares both.

    To resume an interrupted call, repeat it. Finished stages are kept while their inputs are the
    same.

    Args:
        teachers: folder of a run or of an export, or a list of runs, which are an ensemble.
        experiment: the student's `Experiment`, or the name of a config, such as "student:small".
        folder: folder of the student's run.
        **settings: further fields of `DistillationPlan`.

    Returns:
        The report, as Markdown.

    Raises:
        ValueError: if a setting is wrong, a file is missing or a stage fails.
        KeyboardInterrupt: if SIGINT, SIGTERM or SIGHUP arrives; the running stage saves first.
    """
    plan = DistillationPlan(teachers=teachers, experiment=experiment, run=folder, **settings)
    return importlib.import_module(f"{__name__}.distillation_stages").distill(plan)
