"""t2t-score: the lines that it reads and writes. Scores are tested in tests/runs."""

import gzip
import json
import math
import re
import shutil

import pytest
from support.processes.in_process import call, refused

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import load_tokenizer
from pipelines.toy.grammar import pairs

PAIRS = pairs(20)
UGLY = [
    b"The dog sleeps.\tDer Hund schl\xc3\xa4ft.",
    b"\t",
    b"",
    b"  \t   ",
    b"\xff\xfe\xc3(\t\xf0\x9f\x98\x80\xe4\xb8\xad",
    b"dog " * 300 + b"\tHund",
    b"one\ttwo\tand another column",
    b"\xe2\x80\xa8\x0b\x0c\r\x1c\t\r",
    b"last without a line feed\tx",
]


@pytest.fixture(scope="module")
def folder(new_run, tmp_path_factory):
    """Two runs in opposite directions, one with 40 learned positions, and pairs as text files."""
    folder = tmp_path_factory.mktemp("score")
    new_run(folder / "run")
    new_run(folder / "learned", positions="learned", max_length=40)
    shutil.copytree(folder / "run", folder / "reverse")
    config = folder / "reverse" / "config.json"
    write_json(config, read_json(config) | {"languages": ["de", "en"]})
    (folder / "test.en").write_text("".join(f"{english}\n" for english, _ in PAIRS))
    (folder / "test.de").write_text("".join(f"{german}\n" for _, german in PAIRS))
    (folder / "test.tsv").write_text("".join(f"{e}\t{g}\n" for e, g in PAIRS))
    return folder


def score(folder, *arguments, stdin=""):
    return call("score", folder / "run", *arguments, stdin=stdin)


def rows_of(text):
    return [tuple(map(float, line.split("\t"))) for line in text.splitlines()]


def test_each_pair_has_a_line_and_standard_error_ends_with_the_totals(folder):
    result = score(folder, f"--source={folder}/test.en", f"--target={folder}/test.de")
    rows = rows_of(result.stdout)
    tokenizer = load_tokenizer(folder / "run" / "vocabulary")
    for (log_p, perplexity, pieces), (_, target) in zip(rows, PAIRS, strict=True):
        assert pieces == len(tokenizer.encode([target])[0]) + 1, "its end included"
        assert math.isclose(perplexity, math.exp(-log_p / pieces), rel_tol=1e-4)
    log_p, pieces = sum(row[0] for row in rows), sum(row[2] for row in rows)
    total = result.stderr.strip().splitlines()[-1]
    assert total.startswith(f"20 pairs, {pieces:,.0f} pieces, log P per piece ")
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", total)]
    assert numbers == pytest.approx([log_p / pieces, math.exp(-log_p / pieces)], rel=1e-4)


def test_pairs_may_be_in_two_files_or_one_or_on_standard_input_and_compressed(folder, tmp_path):
    texts = {name: (folder / f"test.{name}").read_bytes() for name in ("en", "de", "tsv")}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(gzip.compress(text))
    expected = score(folder, f"--source={folder}/test.en", f"--target={folder}/test.de")
    wanted = rows_of(expected.stdout)
    assert "scoring: 20 of 20 pairs (100%), " in expected.stderr
    for arguments, stdin in (
        ([f"--source={tmp_path}/en", f"--target={tmp_path}/de"], b""),
        ([f"--pairs={tmp_path}/tsv", "--lines=3"], b""),
        ([], (tmp_path / "tsv").read_bytes()),
        (["--pairs=-"], b"\xef\xbb\xbf" + texts["tsv"]),
    ):
        result = score(folder, *arguments, stdin=stdin)
        assert "scoring: 20 of 20 pairs (100%), " in result.stderr
        for row, other in zip(rows_of(result.stdout), wanted, strict=True):
            assert row == pytest.approx(other, rel=1e-4)
    assert score(folder, f"--output={tmp_path}/out.gz", stdin=texts["tsv"]).stdout == ""
    assert len(rows_of(gzip.decompress((tmp_path / "out.gz").read_bytes()).decode())) == 20


def test_an_object_per_pair_has_the_log_p_of_each_piece(folder):
    plain = rows_of(score(folder, f"--pairs={folder}/test.tsv").stdout)
    flags = [f"--pairs={folder}/test.tsv", "--json"]
    first = json.loads(score(folder, *flags).stdout.splitlines()[0])
    assert set(first) == {"source", "target", "log_p", "perplexity", "tokens"}
    lines = score(folder, *flags, "--pieces").stdout.splitlines()
    for line, pair, row in zip(lines, PAIRS, plain, strict=True):
        contents = json.loads(line)
        assert (contents["source"], contents["target"]) == tuple(pair)
        numbers = (contents["log_p"], contents["perplexity"], contents["tokens"])
        assert numbers == pytest.approx(row, abs=1e-3)
        pieces = contents["pieces"]
        assert pieces[-1]["piece"] == "</s>" and len(pieces) == contents["tokens"]
        assert "".join(p["piece"] for p in pieces[:-1]).replace("▁", " ").strip() == pair[1]
        assert sum(p["log_p"] for p in pieces) == pytest.approx(contents["log_p"], abs=1e-4)


def test_every_line_is_answered_whatever_it_contains(folder):
    rows = rows_of(score(folder, stdin=b"\n".join(UGLY)).stdout)
    assert len(rows) == len(UGLY)
    assert all(log_p < 0 and math.isfinite(perplexity) for log_p, perplexity, _ in rows)
    assert [rows[n][2] for n in (1, 2, 3)] == [1, 1, 1], "nothing but the end"
    assert rows[1] == pytest.approx(rows[2], rel=1e-4) and rows[1] == pytest.approx(rows[3], 1e-4)
    assert score(folder).stderr.endswith("no pairs\n")


@pytest.mark.long
def test_two_directions_give_the_dual_cross_entropy(folder):
    english, german = folder / "test.en", folder / "test.de"
    forward, backward = (
        [-log_p / pieces for log_p, _, pieces in rows_of(score(folder, *files).stdout)]
        for files in (
            [f"--source={english}", f"--target={german}"],
            [f"--source={german}", f"--target={english}"],
        )
    )
    both = [f"--source={english}", f"--target={german}", f"--reverse={folder}/reverse"]
    rows = rows_of(score(folder, *both).stdout)
    for row, a, b in zip(rows, forward, backward, strict=True):
        assert row[1:] == pytest.approx((a, b), abs=1e-3)
        assert row[0] == pytest.approx(math.exp(-abs(a - b) - (a + b) / 2), rel=0.01)
    contents = json.loads(score(folder, *both, "--json").stdout.splitlines()[0])
    assert (contents["source"], contents["target"]) == tuple(PAIRS[0])
    numbers = [contents[key] for key in ("score", "cross_entropy", "reverse_cross_entropy")]
    assert numbers == pytest.approx(rows[0], rel=1e-3)


@pytest.mark.long
def test_an_interrupted_command_keeps_the_blocks_that_it_has_written(folder, tmp_path):
    pairs = tmp_path / "pairs"
    both = [f"--pairs={pairs}", "--lines=8", f"--reverse={folder}/reverse"]
    pairs.write_text((folder / "test.tsv").read_text() + "no tab\n")
    with pytest.raises(ValueError, match="line 21: a pair needs a tab"):
        score(folder, *both, f"--output={tmp_path}/out")
    assert not (tmp_path / "out").exists()
    pairs.write_text((folder / "test.tsv").read_text())
    result = score(folder, *both, f"--output={tmp_path}/out")
    assert "16 pairs were scored before" in result.stderr and "4 pairs, " in result.stderr
    assert (tmp_path / "out").read_text() == score(folder, *both).stdout


MISTAKES = {
    "": "takes a run's folder, or several for an ensemble. Received: none",
    "{0}": "is not a run",
    "{0}/run --source={0}/test.en": "in one way: --source and --target, --pairs",
    "{0}/run --source={0}/a --target={0}/b --pairs={0}/c": "Received: --source, --target, --pairs",
    "{0}/run --source={0}/test.en --target={0}/one": "number of lines. Received: 20 and 1",
    "{0}/run --pairs={0}/one --output={0}/./one": "--pairs are the same file",
    "{0}/run --source={0}/test.en --target={0}/one --output={0}/one": (
        "--output and --target are the same file"
    ),
    "{0}/run --output={0}": "Is a directory",
    "{0}/run --pieces": "--pieces has no effect without --json",
    "{0}/run --reverse={0}/run --pairs={0}/test.tsv": "in the other direction, de-en",
    "{0}/run --reverse={0}/reverse --json --pieces": "--pieces has no effect with --reverse",
    "{0}/learned --pairs={0}/long": "line 2: a target must have at most 40 pieces",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(folder, line, message):
    (folder / "one").write_text("One line.\n")
    (folder / "long").write_text("a\tb\na\t" + "Hund " * 50 + "\n")
    assert message in refused("score", line, folder)
    assert (folder / "one").read_text() == "One line.\n"
