"""t2t-attention: draws the attention of every head, or the learning curves of runs.

t2t-attention runs/ende "The dog sleeps."
t2t-attention runs/ende "The dog sleeps." --translation="Der Hund schläft."
t2t-attention runs/ende "The dog sleeps." --pieces          sub-words instead of words
t2t-attention --curves runs/ende runs/other --output=curves

The first three write a heat map of all heads for each attention sub-layer, and index.html, a page
to browse them offline. Each row of a decoder map is labeled with the word that is being written.

--curves writes curves.png, with the loss, perplexity, BLEU and learning rate of the runs.
"""

from pathlib import Path

from absl import flags

from t2t_keras.cli.backend import load_backend
from t2t_keras.cli.files import check_output_folder
from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.unused_flags import refuse_unused
from t2t_keras.cli.weights_flag import WEIGHTS

TRANSLATION = flags.DEFINE_string(
    "translation", None, "Target text to show. Default: the model's own translation."
)
PIECES = flags.DEFINE_bool("pieces", False, "Show sub-words instead of words.")
CURVES = flags.DEFINE_bool("curves", False, "Draw the learning curves of runs.")
OUTPUT = flags.DEFINE_string("output", "attention", "Output folder.")


def main(arguments):
    if CURVES.value and not arguments:
        raise ValueError("--curves takes the folders of one or several runs. Received: none")
    if not CURVES.value and len(arguments) != 2:
        raise ValueError(
            "takes a run's folder and one sentence in quotation marks, or --curves and folders. "
            f"Received: {' '.join(arguments) or 'none'}"
        )
    if CURVES.value:
        refuse_unused([TRANSLATION, PIECES, WEIGHTS, *SEARCH_FLAGS], "with --curves")
    if TRANSLATION.value is not None:
        refuse_unused(SEARCH_FLAGS, "with --translation, which is not searched for")
    check_output_folder(OUTPUT.value)
    load_backend()
    (draw_curves if CURVES.value else draw_attention)(arguments, Path(OUTPUT.value))


def draw_attention(arguments, folder):
    from t2t_keras.runs import Run

    run_folder, sentence = arguments
    attention = Run(run_folder).attention(
        sentence, TRANSLATION.value, PIECES.value, WEIGHTS.value, **search_changes()
    )
    attention.save(folder)
    print(attention.translation)
    print(f"{len(attention.heads)} images and {folder / 'index.html'}")


def draw_curves(folders, output):
    from t2t_keras.runs import Run
    from t2t_keras.visualization.curves import curves

    names = [Path(folder).resolve().name for folder in folders]
    names = names if len(set(names)) == len(names) else folders
    evaluations = {
        name: Run(folder).evaluations(required=True)
        for name, folder in zip(names, folders, strict=True)
    }
    output.mkdir(parents=True, exist_ok=True)
    curves(output / "curves.png", evaluations)
    print(output / "curves.png")


def entry():
    run(main)


if __name__ == "__main__":
    entry()
