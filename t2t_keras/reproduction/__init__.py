"""Reproduction of the paper's tables: `reproduce(Plan("table1"))`."""

import importlib

from t2t_keras.reproduction.plan import Plan

__all__ = ["Plan", "reproduce"]


def reproduce(plan):
    """Reproduces a table, or the claims, and returns it as Markdown.

    All files are written to `plan.folder`: prepared data, runs, logs, and finally the table as
    Markdown and CSV. To resume an interrupted call, repeat it.

    Table 1 and the claims fork this process. Reproduce them before TensorFlow or JAX has computed
    anything. In a script, call this function under `if __name__ == "__main__":`.

    Args:
        plan: a `Plan`.

    Raises:
        ValueError: if a setting is wrong, a file is missing or a stage fails.
        KeyboardInterrupt: if SIGINT, SIGTERM or SIGHUP arrives; the running stage saves first.
    """
    return importlib.import_module(f"{__name__}.{plan.table}").reproduce(plan)
