"""Extrapolation to longer lines (§3.5) with sinusoidal, learned and no positional encodings.

The models are trained on lines of at most `TRAINED` tokens. Sentences of the toy grammar are short,
so all lines, including the training lines, are chains of sentences.
"""

from t2t_keras.evaluation.by_length import bleu_by_length
from t2t_keras.reproduction.claims.chained_text import encoded_chains
from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.run_stages import ChosenWeights, translate
from t2t_keras.reproduction.texts import pair_paths
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

# {value of `model.positions`: name in the table and the plot}
KINDS = {"sinusoidal": "sinusoidal", "learned": "learned", "none": "no positions"}
TRAINED = 20  # maximum tokens of a training line
ENDS = (10, 20, 30, 40, 50, 60)  # maximum tokens of the test lines in each group
PER_GROUP = 50  # number of test lines in each group
SHARED = {"data.batches.max_length": TRAINED + 1}  # includes the begin or end token
ROWS = 256  # rows in the table of learned positions; most of them are not trained


def finding(toy_runs):
    text = chained_text(toy_runs)
    groups = {}
    for kind in KINDS:
        changes = {"model.positions": kind, **SHARED}
        if kind == "learned":
            changes["model.max_length"] = ROWS
        run = toy_runs.trained(f"positions-{kind}", changes, text)
        groups[kind] = by_length(run, text, toy_runs.plan.folder / "chained")
    return Finding(
        title="Sinusoids beyond the lengths of training",
        claim="We chose the sinusoidal version because it may allow the model to extrapolate to "
        "sequence lengths longer than the ones encountered during training (§3.5)",
        tables={"positions": [row(kind, groups[kind]) for kind in KINDS]},
        panels=[
            Panel(
                f"BLEU by length; trained on at most {TRAINED} tokens",
                {
                    name: {group.last: group.score for group in groups[kind] if group.last}
                    for kind, name in KINDS.items()
                },
                "tokens of the source, at most",
            )
        ],
        notes=[
            f"Lines are chains of sentences; training lines are at most {TRAINED} tokens long. "
            f"About {PER_GROUP} held-out lines in each group of lengths.",
            toy_runs.note("chains of sentences"),
        ],
    )


def chained_text(toy_runs):
    """Writes lines of all lengths and returns them as an `EncodedText`."""
    folder = toy_runs.plan.folder / "chained"
    lengths = [end for end in ENDS for _ in range(PER_GROUP)]
    return encoded_chains(folder, toy_runs.recipe(SHARED), TRAINED, lengths)


def by_length(run, text, folder):
    """Translates the test lines and returns their BLEU as a list of `LengthGroup`s."""
    source, target = pair_paths(folder, "test")
    experiment, output = run.experiment(), run.folder.parent / "test.out"
    weights = ChosenWeights(str(experiment.training.steps), "the last checkpoint")
    stages = Stages(run.folder.parent, run.folder.parent.name, text.stages)
    translate(stages, "translate", [(run, weights)], experiment.search, source, output)
    sources, tokenizer = read_lines(source), run.tokenizer().source
    tokens = [" ".join("x" for _ in ids) for ids in tokenizer.encode(sources)]
    return bleu_by_length(tokens, read_lines(output), read_lines(target), ends=ENDS)


def row(kind, groups):
    cells = {"positions": KINDS[kind]}
    for group in groups:
        end = "…" if group.last is None else group.last
        cells[f"{group.first}–{end}"] = number(group.score, ".1f")
    return cells
