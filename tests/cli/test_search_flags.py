import pytest
from absl import flags
from in_process import parsed_flags


def changes(*arguments):
    with parsed_flags("search_flags", *arguments) as module:
        return module.search_changes()


def test_only_given_flags_change_a_setting():
    assert changes() == {}
    assert changes("--beam=3", "--alpha=0.5", "--top_k=0") == {"beam": 3, "alpha": 0.5, "top_k": 0}
    assert changes("--sample", "--seed=2") == {"method": "sample", "seed": 2}


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
