"""t2t-compare and t2t-train --sweep, as entered."""

import csv

import pytest
from support.processes.commands import command
from support.processes.in_process import refused


@pytest.mark.nightly
def test_a_sweep_ends_with_its_table(tmp_path):
    arguments = (
        *("--config=quickstart", f"--run={tmp_path}/sweep", "--config.training.steps=2"),
        *("--config.training.evaluate_every=1", "--config.data.toy_pairs=300"),
        *("--config.data.vocabulary.size=400", "--config.data.dev_pairs=10", "--seeds=2"),
        *("--config.model.d_model=16", "--config.model.num_layers=1", "--config.search.beam=1"),
        *("--config.training.warmup_steps=1", "--sweep=model.d_ff=16,32"),
    )
    result = command("train", *arguments)
    with open(tmp_path / "sweep" / "comparison.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["model.d_ff"] for row in rows] == ["16", "32"]
    assert all(row["BLEU ±"] and row["steps"] == "2" for row in rows)
    assert "--sweep=model.d_ff=16,32" in result.stdout and "| 16" in result.stdout
    assert "run 4 of 4" not in command("train", *arguments).stderr, "nothing is trained again"


MISTAKES = {
    "compare": "takes the folders of runs, or of sweeps",
    "compare {0}/none": "none is not a run",
    "compare {0} --source={0}/x": "--source and --reference go together",
    "train --sweep=training.learnin_rate=1,2 --run={0}/new": "did you mean",
    "train --sweep=training.learning_rate --run={0}/new": "--sweep must be SETTING=VALUE,VALUE",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(tmp_path, line, message):
    name, _, rest = line.partition(" ")
    assert message in refused(name, rest, tmp_path)
