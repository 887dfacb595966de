"""t2t-evaluate --treebank: scores of files of parses and of a run that parses."""

import itertools

import pytest
from support.processes.commands import command
from support.processes.in_process import call, ended

DOG = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)))"
FOUR = "(S (NP (DT a) (NN b)) (VP (VB c) (RB d)))"


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def table(result):
    """Returns the printed table as {name: [all, short]}."""
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["all", "≤", "40", "words"]
    assert "as EVALB counts them with COLLINS.prm" in lines[-1]
    return {line[:16].strip(): line[16:].split() for line in lines[1:-1]}


def test_a_file_of_parses_is_scored(tmp_path):
    long = f"(S {'(NN a) ' * 41})"
    gold = write(tmp_path / "gold.mrg", [f"( {FOUR} )".replace(" (VP", "\n  (VP"), DOG, FOUR, long])
    parses = write(tmp_path / "parses", [FOUR, "", "(S (DT a) (NN b", long])
    # Brackets found: 3 of 3, none of 4, none of 3, 1 of 1.
    assert table(call("evaluate", f"--parses={parses}", f"--treebank={gold}")) == {
        "precision": ["100.00", "100.00"],
        "recall": ["36.36", "30.00"],
        "F1": ["53.33", "46.15"],
        "complete match": ["50.00", "33.33"],
        "average crossing": ["0.00", "0.00"],
        "tagging accuracy": ["83.33", "30.77"],  # 45 of 54 words, 4 of 13
        "sentences": ["4", "3"],
        "failed": ["2", "2"],
    }


PARSES = ["--parses={0}/two", "--treebank={0}/two"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parses={0}/two"], "takes --treebank with the gold trees, and a run"),
        (["--treebank={0}/two"], "takes --treebank with the gold trees, and a run"),
        (["{0}", "--parses={0}/two", "--treebank={0}/two"], "takes --treebank with the gold trees"),
        (
            ["--parses={0}/one", "--treebank={0}/two"],
            "There must be as many parses as gold trees, with an empty line for each failed parse. "
            "Received: 2 gold trees and 1 parses",
        ),
        (["--parses={0}/none", "--treebank={0}/two"], "No such file"),
        (["--parses={0}/two", "--treebank={0}/none"], "There is no treebank file"),
        (["--parses={0}/two", "--treebank={0}/bad"], "bad, line 2: the tree that begins here"),
        ([*PARSES, "--output=x"], "--output has no effect with --parses"),
        ([*PARSES, "--leaves=XX"], "--leaves has no effect with --parses"),
        ([*PARSES, "--weights=best"], "--weights has no effect with --parses"),
        ([*PARSES, "--alpha=1"], "--alpha has no effect with --parses"),
        (
            ["--parses={0}/two", "--treebank={0}/two", "--source=x", "--reference=y"],
            "trees are not scored as text: leave out --source, --reference",
        ),
        (["{0}/x", "--treebank={0}/two"], "is not a run"),
        (["{0}/x", "--treebank={0}/t*", "--output={0}/two"], "are the same file"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(tmp_path, arguments, message):
    write(tmp_path / "one", [FOUR])
    write(tmp_path / "two", [FOUR, FOUR])
    write(tmp_path / "bad", [FOUR, "(S (NN a)"])
    result = ended("evaluate", *(each.format(tmp_path) for each in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert (tmp_path / "two").read_text() == f"{FOUR}\n{FOUR}\n"


TINY = [
    *("--config.model.num_layers=1", "--config.model.d_model=32", "--config.model.d_ff=32"),
    *("--config.model.num_heads=2", "--config.model.dropout=0", "--config.data.batches.buckets=1"),
    *("--config.model.attention_dropout=0", "--config.data.batches.tokens=600"),
    *("--config.data.batches.max_length=64", "--config.training.warmup_steps=30"),
    *("--config.training.learning_rate=0.7", "--config.training.steps=200"),
    "--config.training.checkpoint_every=40",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """24 sentences with traces, function tags and punctuation, prepared by t2t-prepare."""
    folder = tmp_path_factory.mktemp("parsing")
    nouns, verbs = ["dog", "cat", "bird"], ["sees", "hears"]
    objects = [f"(NP (DT a) (NN {noun}))" for noun in nouns]
    objects.append("(ADVP-TMP (RB now)) (NP (-NONE- *T*))")
    trees = [
        f"( (S (NP-SBJ (DT the) (NN {noun})) (VP (VBZ {verb}) {after}) (. .)))"
        for noun, verb, after in itertools.product(nouns, verbs, objects)
    ]
    write(folder / "gold.mrg", trees)
    result = command(
        *("prepare", "--config=parsing", f"--treebank={folder}/gold.mrg"),
        *(f"--output={folder}/data", "--config.data.vocabulary.size=290"),
    )
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def trained(prepared):
    run = prepared / "run"
    options = ["--config=parsing", "--noexport", f"--data={prepared}/data", f"--run={run}"]
    result = command("train", *options, *TINY)
    assert result.returncode == 0, result.stderr
    return prepared, run


@pytest.mark.long
def test_a_run_parses_the_sentences_that_it_learned(trained, tmp_path):
    folder, run = trained
    gold, output = f"--treebank={folder}/gold.mrg", tmp_path / "out.trees"
    result = command("evaluate", run, gold, f"--output={output}", "--weights=newest")
    assert result.returncode == 0, result.stderr
    rows = table(result)
    assert float(rows["F1"][0]) > 90
    assert "tagging accuracy" not in rows, "it writes no tags"
    assert rows["sentences"] == ["24", "24"]
    lines = output.read_text().splitlines()
    assert lines[0].startswith("( (S (NP (XX the) (XX dog)) (VP (XX sees)")
    of_file = table(call("evaluate", f"--parses={output}", gold))
    assert {**of_file, "repaired": rows["repaired"]} == rows


@pytest.mark.long
def test_a_run_of_few_steps_writes_trees_if_it_must(trained):
    folder, run = trained
    options = ["--constrain=tree", "--beam=2", "--weights=40"]
    rows = table(call("evaluate", run, f"--treebank={folder}/gold.mrg", *options))
    assert rows["repaired"] == rows["failed"] == ["0", "0"]


@pytest.mark.long
def test_wrong_parses_of_a_run_are_repaired_and_counted(trained, tmp_path):
    folder, run = trained
    gold, output = f"--treebank={folder}/gold.mrg", tmp_path / "out.trees"
    options = [f"--output={output}", "--beam=1", "--weights=40"]  # after its first 40 steps
    rows = table(call("evaluate", run, gold, *options))
    assert int(rows["repaired"][0]) > 12 and rows["repaired"][0] == rows["repaired"][1]
    assert float(rows["recall"][0]) < 90
    of_file = table(call("evaluate", f"--parses={output}", gold))
    assert {**of_file, "repaired": rows["repaired"]} == rows
