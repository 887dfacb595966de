"""Leaves an export for LiteRT beside new weights of a run: it translates fastest on CPUs."""

from t2t_keras.runs.engine_choice import NoExport, fitting


def export_for_cpus(run, show):
    """Exports a run for LiteRT, in float32, unless it has such an export of its weights.

    Args:
        run: a `Run`.
        show: called with a line about the export, or about why there is none.

    Returns:
        Whether an export was written.
    """
    try:
        fitting(run, "litert", "float32")
    except NoExport:
        pass
    else:
        return False
    try:
        version = run.export(format="litert")
    except ValueError as error:
        show(f"There is no export for LiteRT, so TensorFlow translates: {error}")
        return False
    show(f"{version}: for LiteRT, which translates on CPUs")
    return True
