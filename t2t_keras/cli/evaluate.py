"""t2t-evaluate: scores a run on a test set, or a file of translations or of parses.

t2t-evaluate runs/ende --source=test.en --reference=test.de
t2t-evaluate --hypotheses=test.out --reference=test.de
t2t-evaluate --hypotheses=test.out --against=other.out --reference=test.de
t2t-evaluate runs/parsing --treebank=gold.mrg --output=parses.trees
t2t-evaluate --parses=parses.trees --treebank=gold.mrg

Prints sacreBLEU and chrF with their signatures and 95 % intervals; with --against a paired
bootstrap test; with --paper_bleu=LANGUAGE the tokenised, compound-split BLEU of the paper's
Table 2, which is another metric. With --treebank, whose words a run parses: labelled precision,
recall and F1 as EVALB counts them. --output keeps the translations or the parses. The flags of
t2t-translate say how they are searched for.
"""

from absl import flags

from t2t_keras.cli.evaluate_parses import PARSES, TREEBANK, evaluate_parses
from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.evaluation.bleu import SAMPLES, bleu, chrf, compared
from t2t_keras.evaluation.paper_bleu import paper_bleu
from t2t_keras.runs.lines import check_line_counts, read_lines
from t2t_keras.runs.run import finished
from t2t_keras.runs.translating import best_translations

SOURCE = flags.DEFINE_string("source", None, "The test set's source, for a run.")
REFERENCE = flags.DEFINE_string("reference", None, "The test set's translation.")
HYPOTHESES = flags.DEFINE_string("hypotheses", None, "Translations, a line each.")
AGAINST = flags.DEFINE_string("against", None, "Those of another system.")
PAPER_BLEU = flags.DEFINE_string("paper_bleu", None, "Language of the reference, for example de.")
OUTPUT = flags.DEFINE_string("output", None, "Where to keep a run's translations or parses.")


def main(arguments):
    if TREEBANK.value or PARSES.value:
        return evaluate_trees(arguments)
    if bool(arguments) == bool(HYPOTHESES.value):
        raise ValueError(
            "takes a run (several: an ensemble) with --source, or --hypotheses. Received: "
            f"{' '.join(arguments) or 'no run'}, --hypotheses={HYPOTHESES.value}"
        )
    if not REFERENCE.value or (arguments and not SOURCE.value):
        raise ValueError("needs --reference, and for a run --source too")
    references = read_lines(REFERENCE.value)
    others = read_lines(AGAINST.value) if AGAINST.value else None
    if arguments:
        sources = read_lines(SOURCE.value)
        check_line_counts(source=sources, reference=references)
        hypotheses = translations(finished(arguments), sources)
    else:
        hypotheses = read_lines(HYPOTHESES.value)
    if OUTPUT.value:
        with open(OUTPUT.value, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in hypotheses)
    if others is None:
        show([score(hypotheses, references, SAMPLES) for score in (bleu, chrf)])
    else:
        ours, theirs = compared(hypotheses, others, references)
        show(ours)
        print(f"against {AGAINST.value}:")
        show(theirs)
    if PAPER_BLEU.value:
        show([paper_bleu(hypotheses, references, PAPER_BLEU.value)])


def evaluate_trees(arguments):
    of_text = [SOURCE, REFERENCE, HYPOTHESES, AGAINST, PAPER_BLEU]
    if given := [f"--{flag.name}" for flag in of_text if flag.value]:
        raise ValueError(f"trees are not scored as text: leave out {', '.join(given)}")
    evaluate_parses(arguments, OUTPUT.value)


def translations(target, sources):
    """The best translation of each source."""
    config = search_config(target.experiment().search, target.tokenizer(), n_best=1)
    return best_translations(target, sources, config, WEIGHTS.value)


def show(scores):
    for score in scores:
        interval = "" if score.interval is None else f" ± {score.interval:.2f}"
        p_value = "" if score.p_value is None else f", p = {score.p_value:.4f}"
        print(f"{score.name:<12} {score.score:6.2f}{interval}{p_value}  {score.lines:,} lines")
        print(f"             {score.signature}")


def entry():
    run(main)


if __name__ == "__main__":
    entry()
