"""t2t-attention: draws attention, or chooses the head that aligns words.

t2t-attention runs/ende "The dog sleeps."
t2t-attention runs/ende "The dog sleeps." --translation="Der Hund schläft."
t2t-attention runs/ende "The dog sleeps." --pieces          sub-words instead of words
t2t-attention runs/ende --choose_alignment --source=dev.en --target=dev.de --gold=dev.align
t2t-attention runs/ende --choose_alignment --source=dev.en --target=dev.de

The first three write a heat map of all heads for each attention sub-layer, and index.html, a page
to browse them offline. Each row of a decoder map is labeled with the word that is being written.

--choose_alignment finds the decoder layer and head that align words best, and stores them in the
run for t2t-translate --alignments. With --gold, the lowest alignment error rate decides, without it
the highest agreement of the alignments in both directions. A line of --gold such as "0-0 1-2 1p1"
has the word indices of the source and the target, counted from 0: "-" marks sure links, "p"
possible ones. It prints all heads, best first.
"""

from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.flags.shared_flags import not_with, only_with, opened_run, shared_flags
from t2t_keras.cli.main import positional
from t2t_keras.cli.text_files.output_files import check_output_folder
from t2t_keras.runs.text_files import read_lines, read_parallel

TO, WEIGHTS, _ = shared_flags("to", "weights", "trust")

TRANSLATION = flags.DEFINE_string(
    "translation", None, "Target text to show. Default: the model's own translation."
)
PIECES = flags.DEFINE_bool("pieces", False, "Show sub-words instead of words.")
CHOOSE_ALIGNMENT = flags.DEFINE_bool(
    "choose_alignment", False, "Choose the layer and head that align words."
)
SOURCE = flags.DEFINE_string(
    "source", None, "Text file with source sentences for --choose_alignment."
)
TARGET = flags.DEFINE_string("target", None, "Text file with the translations of --source.")
GOLD = flags.DEFINE_string("gold", None, "File with the word alignments of --source and --target.")
OUTPUT = flags.DEFINE_string("output", "attention", "Output folder.")

only_with([CHOOSE_ALIGNMENT], SOURCE, TARGET, GOLD)
not_with(CHOOSE_ALIGNMENT, TRANSLATION, PIECES, OUTPUT, *SEARCH_FLAGS)
not_with(TRANSLATION, *SEARCH_FLAGS, why=", which is not searched for")


def main(arguments):
    if CHOOSE_ALIGNMENT.value:
        choose_alignment(arguments)
        return
    takes = "a run's folder and one sentence in quotation marks"
    folder, sentence = positional(arguments, 2, takes)
    check_output_folder(OUTPUT.value)
    attention = opened_run(folder).attention(
        sentence, TRANSLATION.value, PIECES.value, WEIGHTS.value, **search_changes()
    )
    attention.save(OUTPUT.value)
    print(attention.translation)
    print(f"{len(attention.heads)} images and {Path(OUTPUT.value, 'index.html')}")


def choose_alignment(arguments):
    if len(arguments) != 1 or not (SOURCE.value and TARGET.value):
        raise ValueError(
            "--choose_alignment takes a run's folder, --source and --target. "
            f"Received: {' '.join(arguments) or 'no folder'}, --source={SOURCE.value}, "
            f"--target={TARGET.value}"
        )
    run = opened_run(arguments[0])
    sources, targets = read_parallel(source=SOURCE.value, target=TARGET.value)
    gold = read_lines(GOLD.value) if GOLD.value else None
    for rated in run.choose_alignment(sources, targets, gold, WEIGHTS.value, GOLD.value):
        print(line_of(rated))


def line_of(rated):
    """Returns the line about a head. Layers and heads are counted from 1."""
    head = "mean of heads" if rated.head.head is None else f"head {rated.head.head + 1}"
    step = "reading step" if rated.head.shifted else "writing step"
    error = "" if rated.error_rate is None else f"AER {rated.error_rate:6.1%}  "
    name = f"layer {rated.head.layer + 1}, {head}, {step}"
    return f"{error}agreement {rated.agreement:6.1%}  {name}"
