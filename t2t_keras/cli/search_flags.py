"""The flags of commands that translate with finished runs."""

import dataclasses

from absl import flags

from pipelines.normalization import SPACE_SIGN
from t2t_keras.checks import nearest

BEAM = flags.DEFINE_integer("beam", None, "Hypotheses pursued. 1: greedy. None: the run's.")
ALPHA = flags.DEFINE_float("alpha", None, "Of the length penalty. None: the run's.")
EXTRA_LENGTH = flags.DEFINE_integer("extra_length", None, "Tokens more than the source's.")
SAMPLE = flags.DEFINE_bool("sample", False, "Draw tokens at random instead of searching.")
TEMPERATURE = flags.DEFINE_float("temperature", None, "Of sampling: below 1 is more careful.")
TOP_K = flags.DEFINE_integer("top_k", None, "Sample among so many of the likeliest tokens.")
TOP_P = flags.DEFINE_float("top_p", None, "Sample among those that have this probability.")
SEED = flags.DEFINE_integer("seed", None, "Of sampling.")
NO_REPEAT = flags.DEFINE_integer("no_repeat_ngram", None, "Write no n-gram of this length twice.")
BANNED = flags.DEFINE_list("banned", None, "Pieces that are never written.")
FIRST = flags.DEFINE_list("first", None, "Pieces of which every output begins with one.")


FLAGS = (
    BEAM,
    ALPHA,
    EXTRA_LENGTH,
    SAMPLE,
    TEMPERATURE,
    TOP_K,
    TOP_P,
    SEED,
    NO_REPEAT,
    BANNED,
    FIRST,
)


def given():
    """The names of those of these flags that were given."""
    return [flag.name for flag in FLAGS if flag.present]


def search_config(config, tokenizer, **changes):
    """A run's `SearchConfig` with what the flags change, and with `changes` that are not None."""
    given = {
        "method": "sample" if SAMPLE.value else None,
        "beam": BEAM.value,
        "alpha": ALPHA.value,
        "extra_length": EXTRA_LENGTH.value,
        "temperature": TEMPERATURE.value,
        "top_k": TOP_K.value,
        "top_p": TOP_P.value,
        "seed": SEED.value,
        "no_repeat_ngram": NO_REPEAT.value,
        "banned": ids_of("banned", BANNED.value, tokenizer),
        "first": ids_of("first", FIRST.value, tokenizer),
    }
    given = {name: value for name, value in (given | changes).items() if value is not None}
    config = dataclasses.replace(config, **given)
    config.validate()
    sampling = [flag for flag in (TEMPERATURE, TOP_K, TOP_P, SEED) if flag.value is not None]
    if sampling and config.method != "sample":
        names = ", ".join(f"--{flag.name}" for flag in sampling)
        raise ValueError(f"{names} is for sampling: give --sample too")
    return config


def ids_of(name, pieces, tokenizer):
    """The ids of pieces of the vocabulary; a space before one says that it begins a word."""
    if pieces is None:
        return None
    known = {piece: id for id, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
    pieces = [piece.replace(" ", SPACE_SIGN) for piece in pieces]
    for piece in pieces:
        if piece not in known:
            raise ValueError(
                f"--{name}={piece}: the vocabulary has no such piece{nearest(piece, known)}. A "
                f"piece that begins a word begins with {SPACE_SIGN} or a space"
            )
    return tuple(known[piece] for piece in pieces)
