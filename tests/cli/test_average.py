"""t2t-average prints the averaged steps; tests/runs/test_run.py tests the averages."""

import pytest
from support.processes.commands import command
from support.processes.in_process import call, refused
from support.runs.untrained import save_checkpoint

from pipelines.exit_codes import NO_SPACE


@pytest.fixture(scope="module")
def run(new_run, tmp_path_factory):
    run = new_run(tmp_path_factory.mktemp("average") / "run")
    for step in (500, 1000, 1500):
        save_checkpoint(run, step)
    return run


def test_the_averages_replace_the_weights_that_were_chosen(run):
    before = run.averaged_weights.read_bytes()
    average = ["average", run.folder, "--last=2", "--noexport"]
    printed = f"{run.averaged_weights}: steps 1,000, 1,500\n"
    assert call(*average).stdout == printed
    assert run.averaged_weights.read_bytes() != before
    run.averaged.add(run.averaged.digest(), chosen="1000")
    assert run.default_weights() == "1000"
    assert call(*average).stdout == printed + (
        "They are now the run's default weights, in place of the weights of step 1,000. t2t-train "
        "compares them again\n"
    )
    assert run.default_weights() == "averaged"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "takes one run's folder"),
        ("{0} {0}", "takes one run's folder"),
        ("{0}/vocabulary", "is not a run: it has no config.json"),
        ("{0} --last=50", "has 3 checkpoints in a row (steps: 500, 1,000, 1,500)"),
        ("{0} --last=0", "--last=0"),
    ],
)
def test_a_mistake_is_named_and_changes_nothing(run, line, message):
    before = run.averaged_weights.read_bytes()
    assert message in refused("average", line, run.folder)
    assert run.averaged_weights.read_bytes() == before


def test_a_full_disk_ends_with_one_message_and_keeps_the_averaged_weights(run):
    before = run.averaged_weights.read_bytes()
    result = command("average", run.folder, "--last=2", file_size=30_000)
    assert result.returncode == NO_SPACE, result.stderr
    assert "File too large" in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert run.averaged_weights.read_bytes() == before
    assert not list(run.folder.glob("unfinished.*"))
