"""Table 4: English constituency parsing, from trees to F1 (§6.3).

Trees become token sequences, a vocabulary is learned, the 4-layer model trained, its last 5
checkpoints averaged; sentences are parsed with beam 21, α = 0.3 and at most 300 tokens more than
they have. With --automatic, trees that a parser made are mixed in: the semi-supervised mode.

Sentences that the training text has too are told and left out of F1; F1 with them stands beside
it. If they are many, the text is one that the model was trained on, and nothing is scored.
"""

from typing import NamedTuple

from absl import flags

from pipelines.mixed_treebank import write_mixed
from pipelines.origin import digest
from pipelines.sources import digest_of, find_files
from pipelines.treebank import LEAVES as LEAF_KINDS
from pipelines.treebank import read_trees
from pipelines.whole import read_json, write_json
from t2t_keras.evaluation.bracketing import Bracketing, bracketing
from t2t_keras.reproduction.given_run import given_run
from t2t_keras.reproduction.recipes import made_smaller
from t2t_keras.reproduction.run_stages import (
    Facts,
    as_trained,
    average,
    facts_of,
    train,
    translate,
    weights_of,
)
from t2t_keras.reproduction.stages import Stages, output_folder
from t2t_keras.reproduction.tables import circumstances, number, write_table
from t2t_keras.runs.lines import read_lines
from t2t_keras.runs.parsing import leaves_of, line_of, tree_on, words_of
from t2t_keras.runs.run import Run

TRAIN = flags.DEFINE_string("train", None, "table4: the trees to train on: files, or a glob.")
DEV = flags.DEFINE_string("dev", None, "table4: trees to score, section 22 in the paper.")
TEST = flags.DEFINE_string("test", None, "table4: trees to score, section 23 in the paper.")
AUTOMATIC = flags.DEFINE_string("automatic", None, "table4: trees that a parser made.")
RATIO = flags.DEFINE_float(
    "ratio", None, "table4: automatic trees for each gold one; None: all of both.", lower_bound=1e-6
)
LEAVES = flags.DEFINE_enum(
    "leaves", None, LEAF_KINDS, "table4: what stands for a word. None: XX, or what --run has."
)
AVERAGED = 5
MOST_SEEN = 0.2  # short headings occur everywhere; a text of its own has few others
PRINTED = {"gold trees only": 91.3, "semi-supervised": 92.7}


class Measured(NamedTuple):
    """What a line of the table says: the scores of one treebank."""

    test: str
    facts: Facts
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
    run, recipe = given_run(), recipe_of()
    golds = {name: gold_trees(name, files) for name, files in scored.items()}
    with output_folder("table4") as folder:
        texts = training_texts(folder)
        if run:
            refuse_other_trees(run, texts)
        seen = {name: seen_in(folder, name, trees, texts) for name, trees in golds.items()}
        for name in golds:
            refuse_seen(scored[name], golds[name], seen[name])
        if run:
            weights = weights_of(run)
        else:
            run, weights = trained(folder, recipe, texts)
        search = recipe.experiment.search
        found = [
            measured(folder, name, golds[name], seen[name], run, weights, search) for name in golds
        ]
        print(write_rows(folder, found, recipe, run, weights, scored), end="")


def mode():
    """In which of the paper's two ways is trained."""
    return "semi-supervised" if AUTOMATIC.value else "gold trees only"


def recipe_of():
    return made_smaller("parsing:semi_supervised" if AUTOMATIC.value else "parsing:wsj", AVERAGED)


def gold_trees(name, files):
    """The trees to score, which must have words."""
    trees = list(read_trees(files))
    if not any(words_of(tree) for tree in trees):
        raise ValueError(f"--{name}={files} holds no tree with words: there is nothing to score")
    return trees


def refuse_other_trees(run, texts):
    """Refuses to take --train's word for what a run was trained on, if the run knows better."""
    treebank = run.prepared_with("treebank")
    if treebank and treebank != digest_of(find_files("train", texts)):
        raise ValueError(
            f"{run.folder} was trained on other trees than --train={TRAIN.value} says"
            f"{' with --automatic and --ratio' if AUTOMATIC.value else ''}. By these it is known "
            "which of the scored ones it has seen: name what its t2t-prepare was given"
        )
    leaves_of(run, LEAVES.value)  # refuses others, too


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
    """The places of the gold trees whose sentences the training text has, too."""
    sentences = [" ".join(words_of(gold)) for gold in golds]
    notes = folder / f"seen-{name}.json"
    origin = [digest_of(find_files("train", texts)), digest("\n".join(sentences).encode())]
    known = read_json(notes) or {}
    if known.get("origin") != origin:
        wanted = set(sentences) - {""}
        found = {" ".join(words_of(tree)) for tree in read_trees(texts)} & wanted
        seen = [place for place, sentence in enumerate(sentences) if sentence in found]
        known = {"origin": origin, "seen": seen}
        write_json(notes, known)
    return set(known["seen"])


def refuse_seen(files, golds, seen):
    """Refuses a treebank that the model was trained on."""
    if len(seen) > MOST_SEEN * len(golds):
        example = max((" ".join(words_of(golds[place])) for place in seen), key=len)
        raise ValueError(
            f"{files}: {len(seen):,} of {len(golds):,} sentences are in the training text, such as "
            f"{example[:60]!r}. What a model was trained on says nothing about it: give other trees"
        )


def trained(folder, recipe, texts):
    """The run, trained unless that was done, and its averaged weights."""
    stages, data, run = Stages(folder, "parsing"), folder / "data", Run(folder / "run")
    stages.do(
        stage="prepare",
        command="prepare",
        arguments=[
            *recipe.data_flags(),
            *(f"--treebank={texts}", f"--leaves={LEAVES.value or 'XX'}", f"--output={data}"),
        ],
        creates=data / "report.json",
        reads=find_files("train", texts),
    )
    train(stages, run, recipe, data)
    return run, average(Stages(folder, "parsing"), run, AVERAGED)


def measured(folder, name, golds, seen, run, weights, search):
    """Parses the gold trees' words, unless that was done, and scores what came out."""
    sentences = [words_of(gold) for gold in golds]
    source, output = folder / f"{name}.words", folder / f"{name}.brackets"
    source.write_text("".join(f"{' '.join(words)}\n" for words in sentences), encoding="utf-8")
    translate(Stages(folder, "parsing"), f"parse-{name}", run, weights, search, source, output)
    outputs, leaves = zip(sentences, read_lines(output), strict=True), leaves_of(run, LEAVES.value)
    lines, repaired = zip(*(line_of(*pair, leaves) for pair in outputs), strict=True)
    (folder / f"{name}.trees").write_text("".join(f"{tree}\n" for tree in lines), encoding="utf-8")
    parses = [tree_on(line) for line in lines]
    unseen = [place for place in range(len(golds)) if place not in seen]
    score, _ = bracketing([golds[n] for n in unseen], [parses[n] for n in unseen])
    return Measured(
        test=name,
        facts=facts_of(run),
        score=score,
        seen=len(seen),
        score_of_all=bracketing(golds, parses)[0],
        repaired=sum(repaired),
    )


def write_rows(folder, found, recipe, run, weights, scored):
    """The table, a line for each treebank that was scored."""
    columns = {
        "mode": lambda each: mode(),
        "settings": lambda each: "reduced" if reductions else "the paper's",
        "scored on": lambda each: each.test,
        "sentences": lambda each: f"{each.score.sentences:,}",
        "F1": lambda each: number(each.score.f1),
        "precision": lambda each: number(each.score.precision),
        "recall": lambda each: number(each.score.recall),
        "also in training": lambda each: f"{each.seen:,}",
        "F1 with these": lambda each: number(each.score_of_all.f1),
        "repaired": lambda each: f"{each.repaired:,}",
        "failed": lambda each: f"{each.score_of_all.failed:,}",
        "trees trained on": lambda each: number(each.facts.pairs, ","),
        "steps": lambda each: f"{each.facts.steps:,}",
        "10⁶ weights": lambda each: number(each.facts.millions),
        "paper F1, WSJ 23": lambda each: number(PRINTED[mode()], ".1f"),
    }
    reductions = recipe.reductions(as_trained(run))
    notes = [
        "F1 of labelled brackets as EVALB counts them with COLLINS.prm, of sentences that the "
        "training text does not have; a failed parse has none. Repaired: outputs that were no "
        "tree over their sentence, of all.",
        "The paper: section 23 of the Wall Street Journal, after training on some 40,000 trees of "
        "it alone (91.3) or with 17 M automatic ones (92.7).",
        f"Trained on {TRAIN.value}; {', '.join(f'{n}: {files}' for n, files in scored.items())}. "
        f"For a word stands: {leaves_of(run, LEAVES.value)}.",
    ]
    if AUTOMATIC.value:
        counts = read_json(folder / "mixed.json")
        ratio = f" at a ratio of {RATIO.value:g}" if RATIO.value else ""
        notes.append(
            f"{counts['automatic']:,} automatic trees of {AUTOMATIC.value} and {counts['gold']:,} "
            f"gold ones in an epoch{ratio}: the smaller treebank is repeated to that number."
        )
    notes.append(f"Differs from the paper: {', '.join(reductions) or 'nothing'}.")
    notes.append(f"Weights: {weights.text}.")
    return write_table(folder / "table4", columns, found, [*notes, *circumstances()])
