import dataclasses

import pytest
from absl import flags
from support.processes.in_process import parsed_flags

from t2t_keras.decoding.search_config import SearchConfig, settings_in


def changes(*arguments):
    with parsed_flags("flags.search_flags", *arguments) as module:
        return module.search_changes()


def test_only_given_flags_change_a_setting():
    assert changes() == {}
    assert changes("--beam=3", "--alpha=0.5", "--top_k=0") == {"beam": 3, "alpha": 0.5, "top_k": 0}
    assert changes("--penalty=marian") == {"penalty": "marian"}
    assert changes("--constrain=") == {"constrain": ""}
    assert changes("--sample", "--seed=2") == {"method": "sample", "seed": 2}
    for wrong in ("--penalty=paper", "--beam=a"):
        with pytest.raises(flags.IllegalFlagValueError):
            changes(wrong)


def test_every_setting_but_those_with_other_flags_is_a_flag():
    with parsed_flags("flags.search_flags") as module:
        settings = {field.name for field in dataclasses.fields(SearchConfig)}
        others = {"method": "--sample", "n_best": "of some commands"}
        assert module.BY_NAME.keys() == settings - others.keys()
        for name, flag in module.BY_NAME.items():
            text = flags.FLAGS[flag.name].help
            assert text.endswith("Default: the run's."), name
            assert ("Needs --sample." in text) == (name in settings_in("sampling")), name


def test_pieces_are_separated_by_commas_and_keep_their_spaces_in_every_form_of_the_flag(tmp_path):
    (tmp_path / "flags").write_text("--banned= Der, Die,das\n")
    for arguments in (
        ["--banned= Der, Die,das"],
        ["--banned", " Der, Die,das"],
        [f"--flagfile={tmp_path}/flags"],
    ):
        assert changes(*arguments) == {"banned": [" Der", " Die", "das"]}
    assert changes('--first=",",a', "--banned=") == {"first": [",", "a"], "banned": []}
    for value in ('"', '"a" b', "a\nb"):
        with pytest.raises(flags.IllegalFlagValueError, match="pieces separated by commas"):
            changes(f"--banned={value}")
