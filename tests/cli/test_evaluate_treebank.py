"""t2t-evaluate with --treebank: files of parses, and a run that parses."""

import itertools

import pytest
from commands import command

DOG = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)))"
FOUR = "(S (NP (DT a) (NN b)) (VP (VB c) (RB d)))"


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def table(result):
    """What t2t-evaluate prints, as name: [all, short]."""
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["all", "≤", "40", "words"]
    assert "as EVALB counts them with COLLINS.prm" in lines[-1]
    return {line[:16].strip(): line[16:].split() for line in lines[1:-1]}


def test_evaluate_scores_a_file_of_parses(tmp_path):
    long = f"(S {'(NN a) ' * 41})"
    gold = write(tmp_path / "gold.mrg", [f"( {FOUR} )".replace(" (VP", "\n  (VP"), DOG, FOUR, long])
    parses = write(tmp_path / "parses", [FOUR, "", "(S (DT a) (NN b", long])
    found = table(command("evaluate", f"--parses={parses}", f"--treebank={gold}"))
    # 3 of 3 and 3; none of 4; none of 3; 1 of 1 and 1
    assert found == {
        "precision": ["100.00", "100.00"],
        "recall": ["36.36", "30.00"],
        "F1": ["53.33", "46.15"],
        "complete match": ["50.00", "33.33"],
        "average crossing": ["0.00", "0.00"],
        "tagging accuracy": ["83.33", "30.77"],  # 45 of 54 words, 4 of 13
        "sentences": ["4", "3"],
        "failed": ["2", "2"],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parses={0}/two"], "takes a run's folder or --parses, and --treebank"),
        (["--treebank={0}/two"], "takes a run's folder or --parses, and --treebank"),
        (["{0}", "--parses={0}/two", "--treebank={0}/two"], "takes a run's folder or --parses"),
        (
            ["--parses={0}/one", "--treebank={0}/two"],
            "There must be as many parses as gold trees, with an empty line for each failed parse. "
            "Received: 2 gold trees and 1 parses",
        ),
        (["--parses={0}/none", "--treebank={0}/two"], "No such file"),
        (["--parses={0}/two", "--treebank={0}/none"], "There is no treebank file"),
        (["--parses={0}/two", "--treebank={0}/bad"], "bad, line 2: the tree that begins here"),
        (["--parses={0}/two", "--treebank={0}/two", "--output=x"], "are kept already"),
        (
            ["--parses={0}/two", "--treebank={0}/two", "--source=x", "--reference=y"],
            "trees are not scored as text: leave out --source, --reference",
        ),
        (["{0}/x", "--treebank={0}/two"], "is no run"),
        (["{0}/x", "--treebank={0}/t*", "--output={0}/two"], "are the same file"),
        (["{0}/x", "--treebank={0}/two", "--output={0}/no/out"], "No such file or directory"),
    ],
)
def test_evaluate_names_what_is_wrong(tmp_path, arguments, message):
    write(tmp_path / "one", [FOUR])
    write(tmp_path / "two", [FOUR, FOUR])
    write(tmp_path / "bad", [FOUR, "(S (NN a)"])
    result = command("evaluate", *(each.format(tmp_path) for each in arguments))
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
    """Two kinds of sentences with traces, function tags and punctuation, as t2t-prepare does it."""
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


def test_evaluate_parses_with_a_run(trained, tmp_path):
    folder, run = trained
    gold, output = f"--treebank={folder}/gold.mrg", tmp_path / "out.trees"
    found = table(command("evaluate", run, gold, f"--output={output}", "--weights=newest"))
    assert float(found["F1"][0]) > 90, "it learned these very sentences"
    assert "tagging accuracy" not in found, "it writes no tags"
    assert found["sentences"] == ["24", "24"]
    lines = output.read_text().splitlines()
    assert lines[0].startswith("( (S (NP (XX the) (XX dog)) (VP (XX sees)")
    again = table(command("evaluate", f"--parses={output}", gold))
    assert {**again, "repaired": found["repaired"]} == found


def test_what_a_run_gets_wrong_is_repaired_and_counted(trained, tmp_path):
    folder, run = trained
    gold, output = f"--treebank={folder}/gold.mrg", tmp_path / "out.trees"
    options = [f"--output={output}", "--beam=1", "--weights=40"]  # after its first 40 steps
    found = table(command("evaluate", run, gold, *options))
    assert int(found["repaired"][0]) > 12 and found["repaired"][0] == found["repaired"][1]
    assert float(found["recall"][0]) < 90
    again = table(command("evaluate", f"--parses={output}", gold))
    assert {**again, "repaired": found["repaired"]} == found
