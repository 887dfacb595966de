"""The files of how_to_plug_in.md, from training to a served answer, in folders of two users."""

import re
import shutil
from pathlib import Path

import pytest
from support.processes.commands import TINY_RUN, command

from t2t_keras import runs

PAGE = Path(runs.__file__).with_name("how_to_plug_in.md").read_text("utf-8")
NAMES = ("rotary.py", "gated.py", "gated_config.py", "short.py")


def examples():
    """Returns {name: text} of the page's files."""
    files = re.findall(r"`(\w+\.py)`[^\n]*(?:\n[^\n`]+)*\n\n```py\n(.*?)```", PAGE, re.DOTALL)
    return dict(files)


def test_every_example_has_at_most_20_lines():
    assert tuple(examples()) == NAMES
    for name, text in examples().items():
        assert sum(bool(line.strip()) for line in text.splitlines()) <= 20, name


@pytest.mark.long
def test_plug_ins_go_from_training_to_another_user(tmp_path):
    user = {"XDG_CONFIG_HOME": str(tmp_path / "mine")}

    def call(*arguments, **options):
        return command(*arguments, environment=dict(user), **options)

    for name, text in examples().items():
        (tmp_path / name).write_text(text)
    run, flags = (
        tmp_path / "run",
        [
            f"--config={tmp_path}/gated_config.py",
            f"--imports={tmp_path}/rotary.py,{tmp_path}/short.py",
            *("--config.model.positions=rotary", "--config.search.method=short", *TINY_RUN),
        ],
    )
    train = ["train", f"--run={run}", "--noexport"]
    assert call(*train, *flags, "--config.training.steps=2").returncode == 0
    for name in NAMES:
        (tmp_path / name).unlink()  # the run has copies
    resumed = call(*train, "--config.training.steps=4")
    assert resumed.returncode == 0, resumed.stderr
    for form in ("saved_model", "litert"):
        exported = call("export", run, f"--format={form}")
        assert exported.returncode == 0, exported.stderr
    answers = set()
    for folder, engine in ((run, "litert"), (run / "export", "auto")):
        found = call("translate", folder, f"--engine={engine}", stdin="The dog sleeps.\n")
        assert found.returncode == 0, found.stderr
        answers.add(found.stdout)
    assert len(answers) == 1
    refused = call("export", run, "--format=ctranslate2")
    assert refused.returncode == 2 and "CTranslate2 has no other" in refused.stderr

    assert call("export", run, "--format=hub").returncode == 0
    assert "`imports/gated.py`" in (run / "export_hub" / "README.md").read_text("utf-8")
    refused = call("export", run, "--format=ctranslate2", "--method=beam")
    assert refused.returncode == 2 and "those of a Transformer" in refused.stderr
    theirs = shutil.copytree(run, tmp_path / "theirs")
    user["XDG_CONFIG_HOME"] = str(tmp_path / "another")
    ask = ["translate", theirs, "--engine=litert"]
    refused = call(*ask, stdin="The dog sleeps.\n")
    assert refused.returncode == 2 and "--trust" in refused.stderr and not refused.stdout
    assert call("translate", theirs / "export", stdin="The dog sleeps.\n").stdout in answers
    ask = ["translate", theirs, "--engine=tensorflow"]
    trusted = call(*ask, "--trust", stdin="The dog sleeps.\n")
    assert trusted.stdout in answers and trusted.stderr.count("is executed (SHA-256") == 3
