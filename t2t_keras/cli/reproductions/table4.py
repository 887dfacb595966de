"""Table 4: English constituency parsing, from trees to F1 (§6.3).

Trees become token sequences, a vocabulary is learned, the 4-layer model trained, its last 5
checkpoints averaged; sentences are parsed with beam 21, α = 0.3 and at most 300 tokens more than
they have. With --automatic, trees that a parser made are mixed in: the semi-supervised mode.

Sentences that the training text has too are told and left out of F1; F1 with them stands beside
it. If they are many, the text is one that the model was trained on, and nothing is scored.
"""

from pathlib import Path
from typing import NamedTuple

from absl import flags

from pipelines.mixed_treebank import write_mixed
from pipelines.sources import digest_of, find_files
from pipelines.treebank import LEAVES as LEAF_KINDS
from pipelines.treebank import read_trees
from pipelines.whole import read_json, write_json
from t2t_keras.cli.parses import line_of, tree_on, words_of
from t2t_keras.cli.reproductions.recipes import RUN, made_smaller
from t2t_keras.cli.reproductions.stages import Stages, output_folder
from t2t_keras.cli.reproductions.tables import circumstances, number, write_table
from t2t_keras.cli.runs import Run
from t2t_keras.cli.translating import read_lines
from t2t_keras.evaluation.bracketing import Bracketing, bracketing
from t2t_keras.parameters import parameter_counts
from t2t_keras.training.checkpoints import Checkpoints

TRAIN = flags.DEFINE_string("train", None, "table4: the trees to train on: files, or a glob.")
DEV = flags.DEFINE_string("dev", None, "table4: trees to score, section 22 in the paper.")
TEST = flags.DEFINE_string("test", None, "table4: trees to score, section 23 in the paper.")
AUTOMATIC = flags.DEFINE_string("automatic", None, "table4: trees that a parser made.")
RATIO = flags.DEFINE_float(
    "ratio", None, "table4: automatic trees for each gold one; None: all of both.", lower_bound=1e-6
)
LEAVES = flags.DEFINE_enum("leaves", "XX", LEAF_KINDS, "table4: what stands for a word.")
AVERAGED = 5
MOST_SEEN = 0.2  # short headings occur everywhere; a text of its own has few others
PRINTED = {"gold trees only": 91.3, "semi-supervised": 92.7}


class Measured(NamedTuple):
    """What a line of the table says: the scores of one treebank."""

    test: str
    trees: int | None
    steps: int
    millions: float
    score: Bracketing
    seen: int
    score_of_all: Bracketing
    repaired: int


def reproduce():
    scored = {name: flag.value for name, flag in (("dev", DEV), ("test", TEST)) if flag.value}
    if not TRAIN.value or not scored:
        raise ValueError(
            "--train, and --dev or --test or both, are needed: the trees to train on (or that "
            "--run was trained on), and those to score"
        )
    if RATIO.value and not AUTOMATIC.value:
        raise ValueError("--ratio says how to mix in the trees of --automatic: give both")
    golds = {name: list(read_trees(files)) for name, files in scored.items()}
    with output_folder("table4") as folder:
        texts = training_texts(folder)
        seen = {name: seen_in(folder, name, trees, texts) for name, trees in golds.items()}
        for name in golds:
            refuse_seen(scored[name], golds[name], seen[name])
        recipe = recipe_of()
        run = Run(RUN.value) if RUN.value else trained(folder, recipe, texts)
        found = [
            measured(folder, name, golds[name], seen[name], run, recipe.experiment.search)
            for name in golds
        ]
        print(write_rows(folder, found, run, scored), end="")


def mode():
    return "semi-supervised" if AUTOMATIC.value else "gold trees only"


def recipe_of():
    return made_smaller("parsing:semi_supervised" if AUTOMATIC.value else "parsing:wsj", AVERAGED)


def training_texts(folder):
    """What is trained on: the gold trees' files, or one in which others are mixed with them."""
    if not AUTOMATIC.value:
        return TRAIN.value
    mixed, notes = folder / "mixed.trees", folder / "mixed.json"
    origin = {
        "gold": digest_of(find_files("train", TRAIN.value)),
        "automatic": digest_of(find_files("automatic", AUTOMATIC.value)),
        "ratio": RATIO.value,
    }
    if (read_json(notes) or {}).get("origin") != origin:
        notes.unlink(missing_ok=True)  # the file will not be what they say
        gold, automatic = write_mixed(mixed, TRAIN.value, AUTOMATIC.value, RATIO.value)
        write_json(notes, {"origin": origin, "gold": gold, "automatic": automatic})
    return str(mixed)


def seen_in(folder, name, golds, texts):
    """The sentences of gold trees that the training text has, too."""
    wanted = {" ".join(words_of(gold)) for gold in golds} - {""}
    notes = folder / f"seen-{name}.json"
    origin = [digest_of(find_files("train", texts)), sorted(wanted)]
    known = read_json(notes) or {}
    if known.get("origin") != origin:
        seen = {" ".join(words_of(tree)) for tree in read_trees(texts)} & wanted
        known = {"origin": origin, "seen": sorted(seen)}
        write_json(notes, known)
    return set(known["seen"])


def refuse_seen(files, golds, seen):
    count = sum(" ".join(words_of(gold)) in seen for gold in golds)
    if count > MOST_SEEN * len(golds):
        example = max(seen, key=len)
        raise ValueError(
            f"{files}: {count:,} of {len(golds):,} sentences are in the training text, such as "
            f"{example[:60]!r}. What a model was trained on says nothing about it: give other trees"
        )


def trained(folder, recipe, texts):
    """The run, trained and averaged unless that was done."""
    stages, data, run = Stages(folder, "parsing"), folder / "data", Run(folder / "run")
    stages.do(
        *("prepare", "prepare"),
        [
            *recipe.flags("data"),
            *(f"--treebank={texts}", f"--leaves={LEAVES.value}", f"--output={data}"),
        ],
        creates=data / "report.json",
        reads=find_files("train", texts),
    )
    checkpoints = Checkpoints(run.folder / "checkpoints")
    stages.do(
        *(
            "train",
            "train",
            [*recipe.flags(), f"--data={data}", f"--run={run.folder}", "--noexport"],
        ),
        creates=checkpoints.path(recipe.experiment.training.steps),
    )
    last = min(AVERAGED, len(checkpoints.steps()))
    stages.do(
        *("average", "average", [run.folder, f"--last={last}"]),
        creates=run.averaged_weights,
    )
    return run


def weights_of(run):
    """The name and the file of the weights that a run is scored with."""
    if run.averaged_weights.exists():
        return "averaged", run.averaged_weights
    checkpoints = Checkpoints(run.folder / "checkpoints")
    if not checkpoints.steps():
        raise ValueError(f"{run.folder} has no weights yet: its first checkpoint is still to come")
    step = checkpoints.steps()[-1]
    return step, checkpoints.path(step)


def measured(folder, name, golds, seen, run, search):
    """Parses the gold trees' words, unless that was done, and scores what came out."""
    experiment, (weights, file) = run.experiment(), weights_of(run)
    sentences = [words_of(gold) for gold in golds]
    source, output = folder / f"{name}.words", folder / f"{name}.brackets"
    source.write_text("".join(f"{' '.join(words)}\n" for words in sentences), encoding="utf-8")
    Stages(folder, "parsing").do(
        *(f"parse-{name}", "translate"),
        [
            *(run.folder, f"--weights={weights}", f"--beam={search.beam}"),
            *(f"--alpha={search.alpha}", f"--extra_length={search.extra_length}"),
            *(f"--input={source}", f"--output={output}"),
        ],
        creates=output,
        reads=[file, source],
    )
    outputs = zip(sentences, read_lines(output), strict=True)
    lines, repaired = zip(*(line_of(*pair, LEAVES.value) for pair in outputs), strict=True)
    (folder / f"{name}.trees").write_text("".join(f"{tree}\n" for tree in lines), encoding="utf-8")
    parses = [tree_on(line) for line in lines]
    unseen = [number for number, words in enumerate(sentences) if " ".join(words) not in seen]
    score, _ = bracketing([golds[n] for n in unseen], [parses[n] for n in unseen])
    report = Path(experiment.data.folder) / "report.json"
    steps = Checkpoints(run.folder / "checkpoints").steps()
    return Measured(
        name,
        read_json(report, {}).get("counts", {}).get("kept"),
        steps[-1] if steps else experiment.training.steps,
        sum(parameter_counts(experiment.model).values()) / 1e6,
        score,
        len(sentences) - len(unseen),
        bracketing(golds, parses)[0],
        sum(repaired),
    )


def write_rows(folder, found, run, scored):
    """The table, a line for each treebank that was scored."""
    columns = {
        "mode": lambda each: mode(),
        "scored on": lambda each: each.test,
        "sentences": lambda each: f"{each.score.sentences:,}",
        "F1": lambda each: number(each.score.f1),
        "precision": lambda each: number(each.score.precision),
        "recall": lambda each: number(each.score.recall),
        "also in training": lambda each: f"{each.seen:,}",
        "F1 with these": lambda each: number(each.score_of_all.f1),
        "repaired": lambda each: f"{each.repaired:,}",
        "failed": lambda each: f"{each.score_of_all.failed:,}",
        "trees trained on": lambda each: number(each.trees, ","),
        "steps": lambda each: f"{each.steps:,}",
        "10⁶ weights": lambda each: number(each.millions),
        "paper F1": lambda each: number(PRINTED[mode()], ".1f"),
    }
    experiment, (weights, _) = run.experiment(), weights_of(run)
    notes = [
        "F1 of labelled brackets as EVALB counts them with COLLINS.prm, of sentences that the "
        "training text does not have; a failed parse has none. Repaired: outputs that were no "
        "tree over their sentence, of all.",
        "The paper: section 23 of the Wall Street Journal, after training on some 40,000 trees of "
        "it alone (91.3) or with 17 M automatic ones (92.7).",
        f"Trained on {TRAIN.value}; {', '.join(f'{n}: {files}' for n, files in scored.items())}.",
    ]
    if AUTOMATIC.value and not RUN.value:
        counts = read_json(folder / "mixed.json")
        notes.append(
            f"{counts['automatic']:,} automatic trees of {AUTOMATIC.value} and {counts['gold']:,} "
            "gold ones in an epoch, the smaller treebank repeated to that number."
        )
    notes.append(
        f"Differs from the paper: {', '.join(recipe_of().reductions(experiment)) or 'nothing'}."
    )
    notes.append(f"Weights: {weights if weights == 'averaged' else f'those of step {weights:,}'}.")
    return write_table(folder / "table4", columns, found, [*notes, *circumstances()])
