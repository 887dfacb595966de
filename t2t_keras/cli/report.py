"""t2t-report: writes one page about a run: settings, learning curves, translations.

t2t-report runs/ende --source=test.en --reference=test.de
t2t-report runs/ende --source=test.en --reference=test.de --limit=200 --beam=1
t2t-report runs/ende                              only settings and learning curves

Writes RUN/report.html, one file that works offline. It shows the training text and the hardware,
settings, learning curves, learning rate schedule, weight counts and training cost. With a test set,
it adds BLEU, BLEU by sentence length, the best and worst translations by sentence BLEU with the
differing words marked, how well the confidence of words agrees with the share of right words, and
attention on one sentence.
"""

from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.flags.shared_flags import only_with, opened_run, shared_flags
from t2t_keras.cli.main import positional
from t2t_keras.cli.text_files.output_files import check_outputs
from t2t_keras.runs.text_files import read_parallel

WEIGHTS, *_ = shared_flags("weights", "to", "trust")

SOURCE = flags.DEFINE_string("source", None, "Text file with the test set's source sentences.")
REFERENCE = flags.DEFINE_string(
    "reference", None, "Text file with the reference translations of --source."
)
LIMIT = flags.DEFINE_integer(
    "limit", None, "Maximum number of test set lines to translate. Default: all.", lower_bound=1
)
EXAMPLES = flags.DEFINE_integer(
    "examples", 5, "Number of translations in each group: best, middle and worst.", 1
)
OUTPUT = flags.DEFINE_string("output", None, "Page to write. Default: RUN/report.html.")

only_with([SOURCE], LIMIT, EXAMPLES, WEIGHTS, *SEARCH_FLAGS)


def main(arguments):
    (folder,) = positional(arguments)
    if bool(SOURCE.value) != bool(REFERENCE.value):
        raise ValueError("a test set needs both --source and --reference: give both or neither")
    output = Path(folder) / "report.html" if OUTPUT.value is None else OUTPUT.value
    check_outputs(output, {flag.name: flag.value for flag in (SOURCE, REFERENCE)})
    trained = opened_run(folder)
    test_set = {}
    if SOURCE.value:
        sources, references = read_parallel(source=SOURCE.value, reference=REFERENCE.value)
        name = Path(SOURCE.value).name
        test_set = {"sources": sources, "references": references, "name": name}
    options = {"limit": LIMIT.value, "examples": EXAMPLES.value, "weights": WEIGHTS.value}
    print(trained.report(path=OUTPUT.value, **test_set, **options, **search_changes()))
