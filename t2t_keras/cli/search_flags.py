"""The search flags, shared by all commands that translate with a run."""

import csv

from absl import flags

BEAM = flags.DEFINE_integer("beam", None, "Beam width; 1 is greedy search. Default: the run's.")
ALPHA = flags.DEFINE_float("alpha", None, "Exponent of the length penalty. Default: the run's.")
PENALTY = flags.DEFINE_enum(
    "penalty",
    None,
    ("gnmt", "marian"),
    "Length penalty that divides log P: ((5 + length) / 6)^alpha (gnmt), or length^alpha (marian). "
    "Default: the run's.",
)
EXTRA_LENGTH = flags.DEFINE_integer(
    "extra_length",
    None,
    "Maximum length of a translation beyond its source, in tokens. Default: the run's.",
)
SAMPLE = flags.DEFINE_bool("sample", False, "Sample tokens at random instead of searching.")
TEMPERATURE = flags.DEFINE_float(
    "temperature", None, "Temperature for --sample; below 1 favors likely tokens. Default: 1."
)
TOP_K = flags.DEFINE_integer(
    "top_k", None, "Number of most likely tokens that --sample draws from; 0 is all. Default: 0."
)
TOP_P = flags.DEFINE_float(
    "top_p", None, "Total probability of the tokens that --sample draws from. Default: 1."
)
SEED = flags.DEFINE_integer("seed", None, "Random seed for --sample. Default: 0.")
NO_REPEAT_NGRAM = flags.DEFINE_integer(
    "no_repeat_ngram",
    None,
    "Length in tokens of n-grams that must not occur twice in a translation; 0 is off. Default: "
    "the run's.",
)
CONSTRAIN = flags.DEFINE_enum(
    "constrain",
    None,
    ["", "tree"],
    "tree: every output of a parser is a tree over the words of its sentence; empty: outputs are "
    "not constrained. Default: the run's.",
)


class PieceList(flags.ListParser):
    """Comma-separated pieces. Keeps their leading spaces, which mark the start of a word."""

    def parse(self, argument):
        if isinstance(argument, list):
            return argument
        try:
            return next(csv.reader([argument], strict=True), [])
        except csv.Error as error:
            raise ValueError(
                "must be pieces separated by commas. A piece with a comma or a quotation mark is "
                'written in quotation marks: "," or """"'
            ) from error


def define_pieces(name, purpose):
    return flags.DEFINE(PieceList(), name, None, purpose, serializer=flags.CsvListSerializer(","))


BANNED = define_pieces(
    "banned",
    "Comma-separated vocabulary pieces that translations must not contain. A space before a piece "
    "marks the start of a word.",
)
FIRST = define_pieces(
    "first",
    "Comma-separated vocabulary pieces; each translation must begin with one of them. A space "
    "before a piece marks the start of a word.",
)

SAMPLING_FLAGS = (SAMPLE, TEMPERATURE, TOP_K, TOP_P, SEED)
CONSTRAINT_FLAGS = (NO_REPEAT_NGRAM, BANNED, FIRST, CONSTRAIN)
SEARCH_FLAGS = (BEAM, ALPHA, PENALTY, EXTRA_LENGTH, *SAMPLING_FLAGS, *CONSTRAINT_FLAGS)


def search_changes():
    """Returns the search settings that the flags change."""
    changes = {flag.name: flag.value for flag in SEARCH_FLAGS if flag.value is not None}
    if changes.pop("sample"):
        changes["method"] = "sample"
    return changes
