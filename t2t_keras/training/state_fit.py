"""Checks whether the state in a checkpoint fits a model and its optimizer."""

from t2t_keras.checks import nearest


def check_fits(model, shapes):
    """Raises `ValueError` for the first array of a state that does not fit a model.

    Args:
        model: a built model.
        shapes: {name: shape}, as `Checkpoints.shapes` returns them. The arrays of the optimizer may
            be missing.
    """
    variables = named("model", model.variables)
    if has_optimizer(shapes):
        variables |= named("optimizer", model.optimizer.variables)
    for name, variable in variables.items():
        if name not in shapes:
            raise ValueError(
                f"The checkpoint has no {name}{nearest(name, shapes)}: it belongs to {other(name)}"
            )
        if shapes[name] != tuple(variable.shape):
            raise ValueError(
                f"{name} has the shape {tuple(variable.shape)} in the model and "
                f"{shapes[name]} in the checkpoint: it belongs to {other(name)}"
            )
    for name in shapes:
        if name.startswith("optimizer/") and name not in variables:
            raise ValueError(f"Only the checkpoint has {name}: it belongs to {other(name)}")


def has_optimizer(names):
    """Returns whether the names of a state's arrays include those of an optimizer."""
    return any(name.startswith("optimizer/") for name in names)


def other(name):
    """Returns what a checkpoint belongs to whose array of this name does not fit, as text."""
    if name.startswith("optimizer/"):
        return "an optimizer with different options (training.optimizer_options)"
    return "a different model"


def named(kind, variables):
    """Names variables by index, because Keras' own names differ between equal models."""
    return {f"{kind}/{index:04}": variable for index, variable in enumerate(variables)}
