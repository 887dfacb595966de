import dataclasses
import json

import pytest
from absl import flags
from support.processes.commands import command
from support.processes.in_process import call, parsed_flags
from support.runs.untrained import QUICK

from t2t_keras.decoding.search_config import SearchConfig, settings_in
from t2t_keras.runs.exports import exporting


def changes(*arguments):
    with parsed_flags("flags.search_flags", *arguments) as module:
        return module.search_changes()


def test_only_given_flags_change_a_setting():
    assert changes() == {}
    assert changes("--beam=3", "--alpha=0.5", "--top_k=0") == {"beam": 3, "alpha": 0.5, "top_k": 0}
    assert changes("--penalty=marian") == {"penalty": "marian"}
    assert changes("--constrain=tree") == {"constrain": "tree"}
    assert changes("--constrain=") == {"constrain": ""}
    assert changes("--sample", "--seed=2") == {"method": "sample", "seed": 2}


def test_every_setting_but_those_with_other_flags_is_a_flag():
    with parsed_flags("flags.search_flags") as module:
        settings = {field.name for field in dataclasses.fields(SearchConfig)}
        others = {"method": "--sample", "n_best": "of some commands", "early_stopping": "no effect"}
        assert module.BY_NAME.keys() == settings - others.keys()
        for name, flag in module.BY_NAME.items():
            text = flags.FLAGS[flag.name].help
            assert text.endswith("Default: the run's."), name
            assert ("Needs --sample." in text) == (name in settings_in("sampling")), name


@pytest.mark.parametrize("value", ["--penalty=paper", "--constrain=trees", "--beam=a", "--alpha=b"])
def test_values_have_the_type_and_the_choices_of_the_setting(value):
    with pytest.raises(flags.IllegalFlagValueError):
        changes(value)


@pytest.mark.parametrize(
    ("value", "pieces"),
    [
        ("Der", ["Der"]),
        (" Der, Die,das", [" Der", " Die", "das"]),
        ('",",a', [",", "a"]),
        ("", []),
    ],
)
def test_pieces_are_separated_by_commas_and_keep_their_spaces(value, pieces):
    assert changes(f"--banned={value}", f"--first={value}") == {"banned": pieces, "first": pieces}


def test_a_space_before_the_first_piece_is_kept_in_every_form_of_the_flag(tmp_path):
    (tmp_path / "flags").write_text("--banned= th,th\n")
    for arguments in (
        ["--banned= th,th"],
        ["--banned", " th,th"],
        [f"--flagfile={tmp_path}/flags"],
    ):
        assert changes(*arguments) == {"banned": [" th", "th"]}


@pytest.mark.parametrize("value", ['"', '"a" b', "a\nb"])
def test_pieces_that_cannot_be_separated_are_refused(value):
    with pytest.raises(flags.IllegalFlagValueError, match="must be pieces separated by commas"):
        changes(f"--banned={value}")


@pytest.mark.long
def test_only_runs_of_trees_can_write_trees(run):
    result = command("translate", run.folder, "--constrain=tree", stdin="The dog sleeps.\n")
    assert result.returncode == 2 and result.stdout == ""
    *_, message = result.stderr.splitlines()
    assert "cannot write trees with --constrain=tree: it was not trained on trees" in message


@pytest.mark.long
def test_a_piece_that_begins_a_word_is_banned_by_its_space(run, tmp_path, monkeypatch):
    """In a command as the shell calls it, and in the settings of an export."""
    text = "The dog sleeps."
    word = run.translate([text], **QUICK)[0].split()[0]
    (id,) = run.search(banned=[f" {word}"]).banned
    assert run.tokenizer().pieces([id]) == [f"▁{word}"]
    settings = [f"--{name}={value}" for name, value in QUICK.items()]
    banned = ["--banned", f" {word}", *settings]
    result = command("translate", run.folder, *banned, stdin=f"{text}\n")
    assert result.stdout.strip() and word not in result.stdout.split(), result.stderr
    without_space = command("translate", run.folder, f"--banned={word}", stdin=f"{text}\n")
    assert f"--banned={word}: the vocabulary has no such piece" in without_space.stderr
    monkeypatch.setattr(exporting, "save_ids_model", lambda *arguments: None)
    call("export", run.folder, "--ids_only", f"--banned= {word}", f"--output={tmp_path}")
    recorded = json.loads((tmp_path / "1" / "config.json").read_text())["export"]["search"]
    assert recorded["banned"] == [id]
