"""Table 4: English constituency parsing, from trees to F1 (§6.3).

The last 5 checkpoints are averaged. Sentences are parsed twice: with any output allowed, as in the
paper, and with only trees over the sentence allowed. Sentences that also occur in the training text
are excluded from F1; a second column includes them.
"""

import dataclasses

from pipelines.atomic_files import digest, locked_folder
from pipelines.text.opened_text import find_files
from pipelines.text.sources import digest_of
from pipelines.text.treebank import read_trees, write_mixed
from t2t_keras.evaluation.bracketing import bracketing
from t2t_keras.reproduction.recipe import first_recipe, reduced_recipe
from t2t_keras.reproduction.run_stages import (
    average,
    check_same,
    default_weights,
    existing_run,
    leave_gpus,
    millions_of,
    pairs_of,
    steps_of,
    train,
    trained_experiment,
    translate,
)
from t2t_keras.runs.parsing import gold_words, leaf_symbol, repaired_line, tree_of
from t2t_keras.runs.run import Run
from t2t_keras.runs.text_files import read_lines, write_lines
from t2t_keras.stages.once import once
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import circumstances, number, write_table

AVERAGED = 5  # checkpoints that are averaged
# Maximum share of sentences that are also in the training text. Short headings often are.
MOST_SEEN = 0.2
OUTPUTS = {"": "any", "tree": "trees only"}  # {`SearchConfig.constrain`: name in the table}
# The paper's Table 4: parser, training, F1 on section 23 of the Wall Street Journal.
PAPER = (
    ("Vinyals & Kaiser et al. (2014)", "gold trees only", 88.3),
    ("Petrov et al. (2006), BerkeleyParser", "gold trees only", 90.4),
    ("Zhu et al. (2013)", "gold trees only", 90.4),
    ("Dyer et al. (2016)", "gold trees only", 91.7),
    ("the paper's Transformer", "gold trees only", 91.3),
    ("Zhu et al. (2013)", "semi-supervised", 91.3),
    ("Huang & Harper (2009)", "semi-supervised", 91.3),
    ("McClosky et al. (2006)", "semi-supervised", 92.1),
    ("Vinyals & Kaiser et al. (2014)", "semi-supervised", 92.1),
    ("the paper's Transformer", "semi-supervised", 92.7),
    ("Luong et al. (2015)", "multi-task", 93.0),
    ("Dyer et al. (2016), RNN Grammar", "generative", 93.3),
)


def reproduce(plan):
    treebanks = {name: files for name, files in (("dev", plan.dev), ("test", plan.test)) if files}
    if not plan.train or not treebanks:
        raise ValueError(
            "--train is needed, with the trees that the model is (or --run was) trained on, and "
            "--dev or --test or both, with the trees to score. "
            f"Received: --train={plan.train}, --dev={plan.dev}, --test={plan.test}"
        )
    run = existing_run(plan)
    config = "parsing:semi_supervised" if plan.automatic else "parsing:wsj"
    recipe = reduced_recipe(plan, config, AVERAGED)
    first = first_recipe(plan, recipe)
    golds = {name: gold_trees(name, files) for name, files in treebanks.items()}
    leave_gpus()
    folder = plan.folder
    with locked_folder(folder):
        trees, mix = training_trees(plan, folder)
        if run:
            check_trained_on(plan, run, trees)
        seen = {name: seen_sentences(plan, folder, name, golds[name], trees) for name in golds}
        if run:
            weights = default_weights(run)
        else:
            run, weights = trained_run(plan, folder, first, recipe, trees)
        searches = [
            dataclasses.replace(recipe.experiment.search, constrain=constrain)
            for constrain in OUTPUTS
        ]
        scores = [
            score_treebank(plan, folder, name, golds[name], seen[name], search, run, weights)
            for name in golds
            for search in searches
        ]
        return write_results(plan, folder, scores, first, recipe, run, weights, mix)


def gold_trees(name, files):
    """Reads a treebank to score, in which at least one tree must have words."""
    trees = list(read_trees(files))
    if not any(gold_words(tree) for tree in trees):
        raise ValueError(f"--{name} must have a tree with words. Received: --{name}={files}")
    return trees


def check_trained_on(plan, run, trees):
    """Rejects training trees and leaves that contradict the run's record."""
    treebank = run.prepared_with("treebank")
    if treebank and treebank != digest_of(find_files("train", trees)):
        flags = "--train, --automatic and --ratio" if plan.automatic else "--train"
        raise ValueError(
            f"{run.folder} was trained on different trees. {flags} must name the trees that it was "
            "prepared from: they determine which test sentences the model has seen. "
            f"Received: --train={plan.train}"
        )
    leaf_symbol(run, plan.leaves)  # raises if the leaves differ


def training_trees(plan, folder):
    """Returns the files to train on, and the numbers of gold and automatic trees in a mix."""
    if not plan.automatic:
        return plan.train, None
    mixed, texts = folder / "mixed.trees", (plan.train, plan.automatic)
    digests = [digest_of(find_files(name, getattr(plan, name))) for name in ("train", "automatic")]
    counts = once(
        folder / "mixed.json",
        [*digests, plan.ratio],
        lambda: write_mixed(mixed, *texts, plan.ratio),
    )
    return str(mixed), counts


def seen_sentences(plan, folder, name, golds, trees):
    """Returns the indices of the gold trees whose sentences also occur in the training trees.

    Raises `ValueError` if they are too many: the model was trained on this treebank.
    """
    sentences = [" ".join(gold_words(gold)) for gold in golds]
    key = [digest_of(find_files("train", trees)), digest("\n".join(sentences).encode())]

    def seen():
        scored = set(sentences) - {""}
        common = {" ".join(gold_words(tree)) for tree in read_trees(trees)} & scored
        return [index for index, sentence in enumerate(sentences) if sentence in common]

    found = set(once(folder / f"seen-{name}.json", key, seen))
    if len(found) > MOST_SEEN * len(golds):
        example = max((sentences[index] for index in found), key=len)
        raise ValueError(
            f"{len(found):,} of {len(golds):,} sentences of {getattr(plan, name)} are in the "
            f"training text, for example {example[:60]!r}. Score trees that the model was not "
            "trained on"
        )
    return found


def trained_run(plan, folder, first, recipe, trees):
    """Trains a run and returns it with its averaged `ChosenWeights`.

    If there is a recipe `first`, the training starts from the weights of that training.
    """
    stages, data, run = Stages(folder, "parsing"), folder / "data", Run(folder / "run")
    stages.run_once(
        stage="prepare",
        command="prepare",
        arguments=[
            *recipe.prepare_flags(),
            *(f"--treebank={trees}", f"--leaves={plan.leaves or 'XX'}", f"--output={data}"),
        ],
        creates=data / "report.json",
        reads=find_files("train", trees),
    )
    begun = None
    if first:
        # The run records this path, and may be resumed from any folder.
        begun = Run((folder / "first").resolve()), first
        check_same(run, recipe, data, first=begun)  # before the first training costs time
        train(stages, *begun, data, stage="train-first")
    train(stages, run, recipe, data, first=begun)
    return run, average(Stages(folder, "parsing"), run, AVERAGED)


def score_treebank(plan, folder, name, golds, seen, search, run, weights):
    """Parses the sentences of the gold trees and returns the cells of their scores."""
    sentences = [gold_words(gold) for gold in golds]
    parsed = f"{name}-constrained" if search.constrain else name
    source, output = folder / f"{name}.words", folder / f"{parsed}.brackets"
    write_lines(source, map(" ".join, sentences))
    stages = Stages(folder, "parsing")
    translate(stages, f"parse-{parsed}", [(run, weights)], search, source, output)
    leaves = leaf_symbol(run, plan.leaves)
    outputs = zip(sentences, read_lines(output), strict=True)
    lines, repaired = zip(*(repaired_line(*pair, leaves) for pair in outputs), strict=True)
    write_lines(folder / f"{parsed}.trees", lines)
    parses = [tree_of(line) for line in lines]
    unseen = [index for index in range(len(golds)) if index not in seen]
    score, _ = bracketing([golds[i] for i in unseen], [parses[i] for i in unseen])
    score_of_all, _ = bracketing(golds, parses)
    return {
        "scored on": name,
        "outputs": OUTPUTS[search.constrain],
        "sentences": f"{score.sentences:,}",
        "F1": number(score.f1),
        "precision": number(score.precision),
        "recall": number(score.recall),
        "also in training": f"{len(seen):,}",
        "F1 with these": number(score_of_all.f1),
        "repaired": f"{sum(repaired):,}",
        "failed": f"{score_of_all.failed:,}",
    }


def write_results(plan, folder, scores, first, recipe, run, weights, mix):
    """Writes the table, one line for each search on each treebank; returns it as Markdown.

    The paper's own lines follow as references. `scores` are as by `score_treebank`.
    """
    reductions = recipe.reductions(trained_experiment(run))
    rows = [
        {
            "parser": "ours",
            "mode": "semi-supervised" if plan.automatic else "gold trees only",
            "settings": "reduced" if reductions else "the paper's",
            **cells,
            "trees trained on": number(pairs_of(run), ","),
            "steps": f"{steps_of(run):,}",
            "10⁶ weights": number(millions_of(run)),
            "paper F1, WSJ 23": "",
        }
        for cells in scores
    ]
    for parser, training, f1 in PAPER:
        rows.append({"parser": parser, "mode": training, "paper F1, WSJ 23": f"{f1:.1f}"})
    tests = dict.fromkeys(cells["scored on"] for cells in scores)
    scored = ", ".join(f"{test}: {getattr(plan, test)}" for test in tests)
    notes = [
        "F1 of labeled brackets, counted as EVALB does with COLLINS.prm, over the sentences that "
        "are not in the training text; a failed parse has no brackets. Repaired: outputs, for all "
        "sentences, that were not a tree over their sentence. Outputs: any, as in the paper, or "
        "trees only (--constrain=tree).",
        "References: the paper's Table 4, section 23 of the Wall Street Journal. The paper's "
        "Transformer was trained on some 40,000 of its trees alone or with 17 M automatic ones.",
        f"Trained on {plan.train}; {scored}. Leaves: {leaf_symbol(run, plan.leaves)}.",
    ]
    if mix:
        gold, automatic = mix
        ratio = f" at a ratio of {plan.ratio:g}" if plan.ratio else ""
        notes.append(
            f"An epoch has {automatic:,} automatic trees of {plan.automatic} and {gold:,} gold "
            f"ones{ratio}; the smaller treebank is repeated."
        )
    if first:
        notes.append(
            f"Training began with {first.experiment.training.steps:,} steps with the settings of "
            f"{plan.first}."
        )
    notes.append(f"Differs from the paper: {', '.join(reductions) or 'nothing'}.")
    notes.append(f"Weights: {weights.text}.")
    return write_table(folder / "table4", rows, [*notes, *circumstances(plan)])
