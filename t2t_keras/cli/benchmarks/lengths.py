"""The flag of everything that is measured over growing lengths."""

from absl import flags

from t2t_keras.checks import check_integer

LENGTHS = flags.DEFINE_list("lengths", ["1024", "2048", "4096", "8192"], "Lengths n of a sequence.")


def lengths(texts):
    """The lengths that the flag's texts say, the shortest first."""
    return sorted({whole_number(text) for text in texts})


def whole_number(text):
    number = int(text) if text.isdecimal() else text
    check_integer("lengths", number)
    return number
