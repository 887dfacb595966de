"""t2t-evaluate --treebank: scores of files of parses and of a run that parses."""

import itertools

import pytest
from support.processes.in_process import call, ended, refused

DOG = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)))"
FOUR = "(S (NP (DT a) (NN b)) (VP (VB c) (RB d)))"


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def table(result):
    """Returns the printed table as {name: [all, short]}."""
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["all", "≤", "40", "words"]
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


MISTAKES = {
    "--parses={0}/two": "takes --treebank with the gold trees, and a run",
    "--treebank={0}/two": "takes --treebank with the gold trees, and a run",
    "{0} --parses={0}/two --treebank={0}/two": "takes --treebank with the gold trees",
    "--parses={0}/one --treebank={0}/two": "Received: 2 gold trees and 1 parses",
    "--parses={0}/two --treebank={0}/bad": "bad, line 2: the tree that begins here",
    "--parses={0}/two --treebank={0}/two --output=x": "--output has no effect with --parses",
    "--parses={0}/two --treebank={0}/two --source=x": "--source has no effect with --treebank",
    "{0}/x --treebank={0}/two": "is not a run",
    "{0}/x --treebank={0}/t* --output={0}/two": "are the same file",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(tmp_path, line, message):
    write(tmp_path / "one", [FOUR])
    write(tmp_path / "two", [FOUR, FOUR])
    write(tmp_path / "bad", [FOUR, "(S (NN a)"])
    assert message in refused("evaluate", line, tmp_path)


TINY = [
    *("--config.model.num_layers=1", "--config.model.d_model=32", "--config.model.d_ff=32"),
    *("--config.model.num_heads=2", "--config.model.dropout=0", "--config.data.batches.buckets=1"),
    *("--config.model.attention_dropout=0", "--config.data.batches.tokens=600"),
    *("--config.data.batches.max_length=64", "--config.training.warmup_steps=30"),
    *("--config.training.learning_rate=0.7", "--config.training.steps=200"),
    "--config.training.checkpoint_every=40",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that learned 24 sentences with traces, function tags and punctuation; their trees."""
    folder = tmp_path_factory.mktemp("parsing")
    nouns, verbs = ["dog", "cat", "bird"], ["sees", "hears"]
    objects = [f"(NP (DT a) (NN {noun}))" for noun in nouns]
    objects.append("(ADVP-TMP (RB now)) (NP (-NONE- *T*))")
    trees = [
        f"( (S (NP-SBJ (DT the) (NN {noun})) (VP (VBZ {verb}) {after}) (. .)))"
        for noun, verb, after in itertools.product(nouns, verbs, objects)
    ]
    gold = f"--treebank={write(folder / 'gold.mrg', trees)}"
    config, data, run = "--config=parsing", folder / "data", folder / "run"
    for arguments in (
        ["prepare", config, gold, f"--output={data}", "--config.data.vocabulary.size=290"],
        ["train", config, "--noexport", f"--data={data}", f"--run={run}", *TINY],
    ):
        result = ended(*arguments)
        assert result.returncode == 0, result.stderr
    return run, gold


@pytest.mark.long
def test_a_run_parses_the_sentences_that_it_learned(trained, tmp_path):
    run, gold = trained
    output = tmp_path / "out.trees"
    rows = table(call("evaluate", run, gold, f"--output={output}", "--weights=newest"))
    assert float(rows["F1"][0]) > 90
    assert "tagging accuracy" not in rows, "it writes no tags"
    assert rows["sentences"] == ["24", "24"]
    lines = output.read_text().splitlines()
    assert lines[0].startswith("( (S (NP (XX the) (XX dog)) (VP (XX sees)")
    of_file = table(call("evaluate", f"--parses={output}", gold))
    assert {**of_file, "repaired": rows["repaired"]} == rows


@pytest.mark.long
def test_wrong_parses_are_repaired_and_counted_unless_only_trees_may_be_written(trained):
    run, gold = trained
    early = [run, gold, "--weights=40"]  # after its first 40 steps
    rows = table(call("evaluate", *early, "--beam=1"))
    assert int(rows["repaired"][0]) > 12 and rows["repaired"][0] == rows["repaired"][1]
    assert float(rows["recall"][0]) < 90
    rows = table(call("evaluate", *early, "--constrain=tree", "--beam=1"))
    assert rows["repaired"] == rows["failed"] == ["0", "0"]
