"""Changes to a run's search settings."""

from pipelines.text.normalization import SPACE_SIGN
from t2t_keras.checks import nearest
from t2t_keras.decoding.search import METHODS
from t2t_keras.decoding.search_config import SearchConfig, settings_in

SAMPLING = settings_in("sampling")


def search_config(config, tokenizer, **changes):
    """Returns a copy of a `SearchConfig` with changes.

    Args:
        config: a `SearchConfig`.
        tokenizer: the tokenizer whose target pieces `banned` and `first` name.
        **changes: new values of fields; None keeps the value of a field. `banned` and `first` take
            pieces or ids.
    """
    changes = {name: value for name, value in changes.items() if value is not None}
    fields = SearchConfig.__dataclass_fields__
    for name in changes:
        if name not in fields:
            raise ValueError(
                f"there is no search setting {name!r}{nearest(name, fields)}. The settings are "
                f"{', '.join(fields)}"
            )
    for name in ("banned", "first"):
        if name in changes:
            changes[name] = piece_ids(name, changes[name], tokenizer.target)
    config = config.changed(**changes)
    config.validate()
    if "method" in changes:  # an export's method may be unknown here
        METHODS[config.method]  # refuses an unknown one
    size = tokenizer.target.size
    for name in ("banned", "first"):
        if missing := [id for id in getattr(config, name) if id >= size]:
            raise ValueError(
                f"`{name}` must contain ids from 0 to {size - 1:,}: the vocabulary has no others. "
                f"Received: {missing[0]}"
            )
    if config.method == "sample" and "beam" in changes:
        raise ValueError("--beam: not for sampling. Leave it out, or leave out --sample")
    unused = [name for name in SAMPLING if name in changes and config.method == "beam"]
    if unused:
        raise ValueError(
            f"--{', --'.join(unused)}: for sampling only. Give --sample too (in Python: "
            "method='sample')"
        )
    return config


def piece_ids(name, pieces, tokenizer):
    """Returns the ids of vocabulary pieces. A leading space marks the start of a word."""
    if not isinstance(pieces, list | tuple):
        raise ValueError(f"`{name}` must be a list of pieces or ids. Received: {pieces!r}")
    known = {piece: id for id, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
    for index, piece in enumerate(pieces := [*pieces]):
        if isinstance(piece, str):
            piece = piece.replace(" ", SPACE_SIGN)
            if piece not in known:
                raise ValueError(
                    f"--{name}={piece}: the vocabulary has no such piece{nearest(piece, known)}. "
                    f"The first piece of a word begins with {SPACE_SIGN} or a space"
                )
            pieces[index] = known[piece]
    return tuple(pieces)
