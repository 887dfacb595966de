"""Measures the speed of the search, alone or beside LiteRT and CTranslate2.

Without --run, the model has random weights and every search takes the same number of steps.
"""

from absl import flags

from t2t_keras.cli.benchmarks import fixed_steps, real_text
from t2t_keras.cli.benchmarks.table import ROUNDS
from t2t_keras.cli.benchmarks.train import LENGTH, ROWS
from t2t_keras.cli.flags.config_flag import CONFIG, refuse_config
from t2t_keras.cli.flags.shared_flags import refuse_unused, trust_flag

SOURCE_LENGTH = flags.DEFINE_integer(
    "source_length", 24, "decode: tokens per source sentence.", lower_bound=1
)
BESIDE = flags.DEFINE_enum(
    "beside",
    None,
    ("ctranslate2",),
    "decode: systems that are measured in turn with the search on TensorFlow. ctranslate2: LiteRT "
    "and CTranslate2, each in float32 and in int8.",
)
TRUST = trust_flag()
RUN = flags.DEFINE_string(
    "run",
    None,
    "decode: run that translates --input. Default: a model with random weights. glossary: run of "
    "the toy grammar.",
)
INPUT = flags.DEFINE_string("input", None, "decode: text file for --run, one sentence per line.")
LINES = flags.DEFINE_integer(
    "lines", 200, "decode: maximum number of lines of --input.", lower_bound=1
)
FLAGS = (SOURCE_LENGTH, LENGTH, ROWS, ROUNDS, BESIDE, RUN, TRUST, INPUT, LINES)
READS_CONFIG = True


def measure():
    import keras

    check_flags()
    if (BESIDE.value or RUN.value) and keras.config.backend() != "tensorflow":
        raise ValueError(
            "--beside and --run measure the search in TensorFlow. Received: "
            f"KERAS_BACKEND={keras.config.backend()}"
        )
    if RUN.value:
        real_text.measure(
            RUN.value, INPUT.value, LINES.value, ROWS.value, ROUNDS.value, BESIDE.value
        )
    else:
        fixed_steps.measure(
            CONFIG.value, SOURCE_LENGTH.value, LENGTH.value, ROWS.value, ROUNDS.value, BESIDE.value
        )


def check_flags():
    if not RUN.value:
        refuse_unused([INPUT, LINES, TRUST], "without --run")
        if LENGTH.value < SOURCE_LENGTH.value:
            raise ValueError(
                "--length must be at least --source_length, because an output may have as many "
                f"tokens as its source. Received: --length={LENGTH.value}, "
                f"--source_length={SOURCE_LENGTH.value}"
            )
        return
    refuse_unused([SOURCE_LENGTH, LENGTH], "with --run, which translates --input")
    refuse_config("base", "with --run, whose settings are used")
    if not INPUT.value:
        raise ValueError("--run needs --input, a text file with sentences to translate")
