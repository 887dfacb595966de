"""t2t-compare: compares runs: settings that differ, scores over seeds, cost, learning curves.

t2t-compare runs/a runs/b runs/c
t2t-compare runs/rates                            all runs of a sweep by t2t-train --sweep
t2t-compare runs/rates runs/old --baseline=runs/old --source=test.en --reference=test.de

Runs that differ only in the random seed are one row of the table: mean and standard deviation of
BLEU, the difference from the first row with p-values, chrF, and the cost of training. Without
--source and --reference, all runs are compared on the held-out text of their trainings.

Writes comparison.md, comparison.csv and comparison.png, the learning curves over one another, to
--output, with the translations. The same command translates again only what has changed.
"""

from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.shared_flags import only_with, shared_flags, trust_given
from t2t_keras.cli.main import command_line, will_resume
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.cli.text_files.output_files import check_output_folder

TO, TRUST = shared_flags("to", "trust")
BASELINE = flags.DEFINE_string(
    "baseline", None, "Run whose row is compared with every other row. Default: the first run."
)
SOURCE = flags.DEFINE_multi_string(
    "source",
    None,
    "Text file with the test set's source sentences. Repeat --source and --reference for several "
    "test sets. Default: the held-out text of the runs.",
)
REFERENCE = flags.DEFINE_multi_string(
    "reference", None, "Text file with the reference translations of --source."
)
OUTPUT = flags.DEFINE_string("output", "comparison", "Output folder.")

only_with([SOURCE], TO)


def main(arguments):
    sources, references = SOURCE.value or [], REFERENCE.value or []
    names = [Path(path).name for path in sources]
    if len(sources) != len(references) or len({*names}) < len(names):
        raise ValueError(
            "--source and --reference go together, once for each test set, and each --source needs "
            f"a different file name. Received: {', '.join(sources) or 'no source'}; "
            f"{', '.join(references) or 'no reference'}"
        )
    check_output_folder(OUTPUT.value)
    will_resume()
    trust_given([*arguments, BASELINE.value])
    load_backend()
    from t2t_keras.runs import compare

    tests = dict(zip(names, zip(sources, references, strict=True), strict=True))
    options = BASELINE.value, tests, TO.value, TRUST.value, [f"Command: `{command_line()}`"]
    print(compare(arguments, OUTPUT.value, *options), end="")
