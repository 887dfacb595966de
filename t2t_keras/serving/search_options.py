"""Options of a search, checked before they are used.

SavedModels check them too, but TensorFlow writes a failed assertion to the log, which clients could
fill.
"""

from t2t_keras.serving.limits import Refusal

SEARCH = ("beam", "n_best", "alpha")


def check_search(inputs, widest):
    """Rejects options that cannot be met.

    Args:
        inputs: arrays by name, with an option for each text. "require" may be absent.
        widest: width of the widest beam.
    """
    for options in set(zip(*(inputs[name].tolist() for name in SEARCH), strict=True)):
        check_options(*options, widest)
    if "require" in inputs:
        narrow = inputs["beam"] < widest
        for beam, phrases in zip(inputs["beam"][narrow], inputs["require"][narrow], strict=True):
            if phrases.strip():
                raise Refusal(
                    400, f"`beam` must be {widest} for a text with `require`. Received: {beam}"
                )


def check_options(beam, n_best, alpha, widest):
    """Rejects options that cannot be met."""
    if not 1 <= beam <= widest:
        raise Refusal(400, f"`beam` must be from 1 to {widest}. Received: {beam}")
    if not 1 <= n_best <= beam:
        message = "`n_best` must be at least 1 and at most the beam"
        raise Refusal(400, f"{message}. Received: {n_best}")
    if not 0 <= alpha < float("inf"):
        raise Refusal(400, f"`alpha` must be finite and at least 0. Received: {alpha:g}")
