"""t2t-translate as its users run it."""

import json
import shutil

from commands import UGLY, command

from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer


def test_translate_answers_every_line_whatever_it_is(toy_run, tmp_path):
    _, folder = toy_run
    (tmp_path / "in").write_bytes(
        "\n".join(UGLY).encode() + b"\n\xff\xfe\xc3(\r\nlast without an end"
    )
    options = ["--extra_length=3", f"--input={tmp_path / 'in'}"]
    result = command("translate", folder, *options, f"--output={tmp_path / 'out'}")
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "out").read_text().split("\n")
    assert len(lines) == len(UGLY) + 2 + 1 and lines[-1] == ""
    assert lines[1] == lines[2] == ""
    few = command("translate", folder, *options, "--lines=2")
    assert few.stdout.split("\n") == lines, "the same, however many lines are read at a time"


def test_translate_gives_several_with_scores_and_json(toy_run):
    _, folder = toy_run
    text = "The dog sleeps.\n\nThe cat sleeps.\n"
    several = command("translate", folder, "--n_best=2", "--scores", "--extra_length=5", stdin=text)
    assert several.returncode == 0, several.stderr
    lines = several.stdout.splitlines()
    assert len(lines) == 6
    scores = [float(line.split("\t")[0]) for line in (*lines[:2], *lines[4:])]
    assert scores[0] >= scores[1] and scores[2] >= scores[3]
    one = command("translate", folder, "--json", "--extra_length=5", stdin=text)
    objects = [json.loads(line) for line in one.stdout.splitlines()]
    assert [each["source"] for each in objects] == text.split("\n")[:3]
    assert objects[0]["translations"][0]["text"] == lines[0].split("\t")[1]


def test_translate_takes_the_weights_that_are_asked_for(toy_run, tmp_path):
    _, folder = toy_run
    for weights in ("averaged", "newest", "best", "4"):
        result = command("translate", folder, f"--weights={weights}", "--beam=1", stdin="A dog.\n")
        assert result.returncode == 0, result.stderr
    wrong = command("translate", folder, "--weights=oldest", stdin="A dog.\n")
    assert wrong.returncode == 2 and "has no weights 'oldest'. It has: 2, 4" in wrong.stderr
    nothing = command("translate", tmp_path, stdin="A dog.\n")
    assert nothing.returncode == 2 and "is no run" in nothing.stderr
    wide = command("translate", folder, "--n_best=9", stdin="A dog.\n")
    assert wide.returncode == 2 and "`n_best` must be at most" in wide.stderr


def test_translate_says_which_words_go_together(toy_run):
    _, folder = toy_run
    text = "The dog sleeps.\n\n"
    result = command("translate", folder, "--alignments", "--extra_length=5", stdin=text)
    assert result.returncode == 0, result.stderr
    translation, pairs = result.stdout.split("\n")[0].split("\t")
    assert result.stdout.split("\n")[1] == "\t"
    pairs = [tuple(map(int, pair.split("-"))) for pair in pairs.split()]
    assert sorted(here for _, here in pairs) == list(range(len(translation.split())))
    assert {there for there, _ in pairs} <= {0, 1, 2}
    as_json = command("translate", folder, "--alignments", "--json", "--extra_length=5", stdin=text)
    first = json.loads(as_json.stdout.splitlines()[0])["translations"][0]
    assert [tuple(pair) for pair in first["alignment"]] == pairs


def test_translate_is_told_how_to_begin_and_what_not_to_write(toy_run, tmp_path):
    _, folder = toy_run
    text, options = "The dog sleeps.\nThe cat sleeps.\n", ["--extra_length=5"]
    begun = command("translate", folder, *options, "--prefix=Der Hund", stdin=text)
    assert all(line.startswith("Der Hund") for line in begun.stdout.splitlines()), begun.stderr
    (tmp_path / "prefixes").write_text("Eine Katze\n\n")
    each = command("translate", folder, *options, f"--prefixes={tmp_path / 'prefixes'}", stdin=text)
    assert each.stdout.startswith("Eine Katze")
    (tmp_path / "prefixes").write_text("Eine Katze\n")
    few = command("translate", folder, *options, f"--prefixes={tmp_path / 'prefixes'}", stdin=text)
    assert few.returncode == 2 and "1 lines, and 2 or more" in few.stderr
    first = command("translate", folder, *options, "--first= Der", stdin=text)
    assert all(line.startswith("Der") for line in first.stdout.splitlines()), first.stderr
    wrong = command("translate", folder, "--banned=Derr", stdin=text)
    assert wrong.returncode == 2 and "--banned=Derr: the vocabulary has no such" in wrong.stderr


def test_translate_draws_the_same_samples_again(toy_run):
    _, folder = toy_run
    text, options = "The dog sleeps.\n" * 3, ["--sample", "--extra_length=5", "--seed=1"]
    result = command("translate", folder, *options, stdin=text)
    again = command("translate", folder, *options, "--lines=2", stdin=text)
    assert result.returncode == 0 and result.stdout == again.stdout
    assert len(set(result.stdout.splitlines())) > 1, "a line's sample depends on its number"
    forgotten = command("translate", folder, "--top_p=0.9", stdin=text)
    assert forgotten.returncode == 2 and "--top_p is for sampling" in forgotten.stderr


def test_translate_takes_an_ensemble_of_one_vocabulary(toy_run, tmp_path):
    _, folder = toy_run
    text = "The dog sleeps.\n"
    one = command("translate", folder, "--scores", "--extra_length=5", stdin=text)
    two = command("translate", folder, folder, "--scores", "--extra_length=5", stdin=text)
    assert two.returncode == 0, two.stderr
    assert two.stdout.split("\t")[1] == one.stdout.split("\t")[1]
    shutil.copytree(folder, tmp_path / "other")
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other" / "vocabulary")
    wrong = command("translate", folder, tmp_path / "other", stdin=text)
    assert wrong.returncode == 2 and "has another vocabulary than" in wrong.stderr


def test_translate_does_not_write_over_what_it_reads(toy_run, tmp_path):
    (tmp_path / "text").write_text("The dog sleeps.\n")
    same = [f"--input={tmp_path / 'text'}", f"--output={tmp_path / 'text'}"]
    result = command("translate", toy_run[1], *same)
    assert result.returncode == 2 and "are the same file" in result.stderr
    assert (tmp_path / "text").read_text() == "The dog sleeps.\n"
