"""t2t-score: the lines that it reads and writes. Scores are tested in tests/runs."""

import gzip
import json
import math
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from support.processes.commands import command
from support.processes.in_process import call, ended, parsed_flags
from support.runs.untrained import toy_tokenizer, untrained_run

from pipelines.atomic_files import read_json, write_json
from pipelines.tokenizers import load_tokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.translating.scoring import PairScore

PAIRS = pairs(20)
UGLY = [
    b"The dog sleeps.\tDer Hund schl\xc3\xa4ft.",
    b"\t",
    b"",
    b"  \t   ",
    b"\xff\xfe\xc3(\t\xf0\x9f\x98\x80\xe4\xb8\xad",
    b"a\0b\t\0",
    b"dog\t" + b"Hund " * 300,
    b"dog " * 300 + b"\tHund",
    b"one\ttwo\tand another column",
    b"\xe2\x80\xa8\x0b\x0c\r\x1c\t\r",
    b"last without a line feed\tx",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs in opposite directions, one with 40 learned positions, and pairs as text files."""
    folder = tmp_path_factory.mktemp("score")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    learned = {"positions": "learned", "max_length": 40}
    for name, settings in (("run", {}), ("learned", learned)):
        untrained_run(folder / name, folder / "vocabulary", tokenizer, **settings)
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


def test_a_byte_order_mark_is_no_text(folder):
    pairs = (folder / "test.tsv").read_bytes()
    marked = score(folder, stdin=b"\xef\xbb\xbf" + pairs)
    assert marked.stdout == score(folder, stdin=pairs).stdout


def test_compressed_files_are_read_and_written_as_if_they_were_not(folder, tmp_path):
    for name in ("test.en", "test.de", "test.tsv"):
        (tmp_path / name).write_bytes(gzip.compress((folder / name).read_bytes()))
    expected = score(folder, f"--pairs={folder}/test.tsv").stdout
    files = [f"--source={tmp_path}/test.en", f"--target={tmp_path}/test.de"]
    assert score(folder, *files).stdout == expected
    assert score(folder, f"--pairs={tmp_path}/test.tsv").stdout == expected
    pairs = (tmp_path / "test.tsv").read_bytes()
    assert score(folder, f"--output={tmp_path}/out.gz", stdin=pairs).stdout == ""
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == expected


@pytest.mark.long
def test_each_pair_has_a_line_and_standard_error_ends_with_the_totals(folder):
    texts = [f"--source={folder}/test.en", f"--target={folder}/test.de"]
    result = command("score", folder / "run", *texts)
    assert result.returncode == 0, result.stderr
    rows = rows_of(result.stdout)
    assert len(rows) == len(PAIRS)
    tokenizer = load_tokenizer(folder / "vocabulary")
    for (log_p, perplexity, pieces), (_, target) in zip(rows, PAIRS, strict=True):
        assert pieces == len(tokenizer.encode([target])[0]) + 1, "its end included"
        assert math.isclose(perplexity, math.exp(-log_p / pieces), rel_tol=1e-4)
    log_p, pieces = sum(row[0] for row in rows), sum(row[2] for row in rows)
    total = result.stderr.strip().splitlines()[-1]
    assert total.startswith(f"20 pairs, {pieces:,.0f} pieces, log P per piece ")
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", total)]
    assert numbers == pytest.approx([log_p / pieces, math.exp(-log_p / pieces)], rel=1e-4)


def test_pairs_may_be_in_two_files_or_one_or_on_standard_input(folder, tmp_path):
    expected = score(folder, f"--source={folder}/test.en", f"--target={folder}/test.de")
    text = (folder / "test.tsv").read_text()
    kept = score(folder, "--pairs=-", f"--output={tmp_path}/out", stdin=text)
    assert kept.stdout == ""
    blocks = score(folder, f"--pairs={folder}/test.tsv", "--lines=3")
    for each in (expected, kept, blocks):
        assert "scoring: 20 of 20 pairs (100%), " in each.stderr
    outputs = [(tmp_path / "out").read_text(), blocks.stdout, score(folder, stdin=text).stdout]
    for output in outputs:
        for row, wanted in zip(rows_of(output), rows_of(expected.stdout), strict=True):
            assert row == pytest.approx(wanted, rel=1e-4)


def test_an_object_per_pair_has_the_log_p_of_each_piece(folder):
    plain = rows_of(score(folder, f"--pairs={folder}/test.tsv").stdout)
    lines = score(folder, f"--pairs={folder}/test.tsv", "--json", "--pieces").stdout.splitlines()
    for line, pair, row in zip(lines, PAIRS, plain, strict=True):
        contents = json.loads(line)
        assert (contents["source"], contents["target"]) == tuple(pair)
        numbers = (contents["log_p"], contents["perplexity"], contents["tokens"])
        assert numbers == pytest.approx(row, abs=1e-3)
        pieces = contents["pieces"]
        assert pieces[-1]["piece"] == "</s>" and len(pieces) == contents["tokens"]
        assert "".join(p["piece"] for p in pieces[:-1]).replace("▁", " ").strip() == pair[1]
        assert sum(p["log_p"] for p in pieces) == pytest.approx(contents["log_p"], abs=1e-4)


def test_lines_and_objects_without_pieces(folder):
    pair, given = ("a", "schläft"), PairScore(np.array([5, 2]), np.array([-1.0, -2.5]))
    with parsed_flags("score") as module:
        assert module.line_of(pair, given, None) == "-3.5000\t5.7546\t2"
    with parsed_flags("score", "--json") as module:
        line = module.line_of(pair, given, None)
    assert "schläft" in line
    assert set(json.loads(line)) == {"source", "target", "log_p", "perplexity", "tokens"}


def test_every_line_is_answered_whatever_it_contains(folder):
    data = b"\n".join(UGLY)
    rows = rows_of(score(folder, stdin=data).stdout)
    assert len(rows) == len(UGLY)
    assert all(log_p < 0 and math.isfinite(perplexity) for log_p, perplexity, _ in rows)
    assert [rows[n][2] for n in (1, 2, 3, 5)] == [1, 1, 1, 1], "nothing but the end"
    assert rows[1] == pytest.approx(rows[2], rel=1e-4) and rows[1] == pytest.approx(rows[3], 1e-4)
    objects = score(folder, "--json", "--pieces", "--lines=1", stdin=data).stdout.split("\n")
    assert [json.loads(line)["tokens"] for line in objects[:-1]] == [row[2] for row in rows]


def test_without_pairs_there_are_no_totals(folder):
    result = score(folder)
    assert result.stdout == "" and result.stderr.endswith("no pairs\n")


@pytest.mark.long
def test_lines_before_a_wrong_one_are_answered(folder):
    with parsed_flags("score") as module:
        lines = module.split_at_tabs([b"a\tb\n", b"\n", b"no tab\n"])
        assert [next(lines), next(lines)] == [("a", "b"), ("", "")]
        with pytest.raises(ValueError, match="line 3: a pair needs a tab"):
            next(lines)
    result = command("score", folder / "run", "--lines=1", stdin="a\tb\n\nno tab\n")
    assert result.returncode == 2
    assert "line 3: a pair needs a tab" in result.stderr.splitlines()[-1]
    assert len(result.stdout.splitlines()) == 2
    arguments = ["--lines=1", f"--output={folder}/out"]
    result = command("score", folder / "run", *arguments, stdin="a\tb\n\nno tab\n")
    assert result.returncode == 2 and not (folder / "out").exists()
    assert len((folder / "out.unfinished").read_text().splitlines()) == 2


def test_typed_pairs_are_answered_one_by_one(folder):
    written = []

    def typed():
        for number in range(2):
            assert len(written) == number
            yield f"pair {number}"

    def score(pairs, first_line):
        return f"{pairs[0]}, line {first_line}".encode(), []

    with parsed_flags("score") as module:
        module.one_at_a_time(
            typed(), score, SimpleNamespace(add=lambda _, line: written.append(line))
        )
    assert written == [b"pair 0, line 1", b"pair 1, line 2"]


def test_it_ends_quietly_when_its_output_is_closed(folder):
    arguments = [f"--pairs={folder}/test.tsv", "--lines=1"]
    result = command("score", folder / "run", *arguments, read=False)
    assert result.returncode == 0, result.stderr
    assert "Error" not in result.stderr and "Exception" not in result.stderr


def test_two_directions_give_the_dual_cross_entropy(folder):
    def files(source, target):
        return f"--source={folder}/test.{source}", f"--target={folder}/test.{target}"

    reverse = f"--reverse={folder}/reverse"
    forward, backward = (
        [-log_p / pieces for log_p, _, pieces in rows_of(score(folder, *files(*sides)).stdout)]
        for sides in (("en", "de"), ("de", "en"))
    )
    rows = rows_of(score(folder, reverse, *files("en", "de")).stdout)
    for row, a, b in zip(rows, forward, backward, strict=True):
        assert row[1:] == pytest.approx((a, b), abs=1e-3)
        assert row[0] == pytest.approx(math.exp(-abs(a - b) - (a + b) / 2), rel=0.01)
    (line, *_) = score(folder, reverse, "--json", *files("en", "de")).stdout.splitlines()
    contents = json.loads(line)
    assert (contents["source"], contents["target"]) == tuple(PAIRS[0])
    numbers = [contents[key] for key in ("score", "cross_entropy", "reverse_cross_entropy")]
    assert numbers == pytest.approx(rows[0], rel=1e-3)


def test_an_interrupted_command_keeps_the_blocks_that_it_has_written(folder, tmp_path):
    output = f"--output={tmp_path}/out"
    (tmp_path / "pairs").write_text((folder / "test.tsv").read_text() + "no tab\n")
    both = ["--lines=8", f"--reverse={folder}/reverse", output]
    with pytest.raises(ValueError, match="line 21: a pair needs a tab"):
        score(folder, f"--pairs={tmp_path}/pairs", *both)
    assert not (tmp_path / "out").exists()
    (tmp_path / "pairs").write_text((folder / "test.tsv").read_text())
    result = score(folder, f"--pairs={tmp_path}/pairs", *both)
    assert "16 pairs were scored before" in result.stderr and "4 pairs, " in result.stderr
    whole = score(folder, f"--pairs={tmp_path}/pairs", *both[:2])
    assert (tmp_path / "out").read_text() == whole.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run's folder, several for an ensemble, or an export. Received: none"),
        (["{0}"], "is not a run"),
        (["{0}/run", "--source={0}/test.en"], "in one way: --source and --target, --pairs"),
        (
            ["{0}/run", "--source={0}/a", "--target={0}/b", "--pairs={0}/c"],
            "Received: --source, --target, --pairs",
        ),
        (
            ["{0}/run", "--source={0}/test.en", "--target={0}/one"],
            "must have the same number of lines. Received: 20 and 1",
        ),
        (["{0}/run", "--pairs={0}/none"], "No such file"),
        (["{0}/run", "--pairs={0}/one", "--output={0}/./one"], "--pairs are the same file"),
        (
            ["{0}/run", "--source={0}/test.en", "--target={0}/one", "--output={0}/link"],
            "--output and --target are the same file",
        ),
        (["{0}/run", "--output={0}/run/config.json"], "and a file of the run are the same file"),
        (["{0}/run", "--output={0}/none/out"], "No such file or directory"),
        (["{0}/run", "--output={0}"], "Is a directory"),
        (["{0}/run", "--pairs={0}/test.tsv", "--pieces"], "--pieces needs --json"),
        (["{0}/run", "--pairs={0}/test.tsv", "--weights=best"], "has no weights 'best'"),
        (["{0}/run", "--reverse={0}/none", "--pairs={0}/test.tsv"], "none is not a run"),
        (["{0}/run", "--reverse={0}/run", "--pairs={0}/test.tsv"], "in the other direction, de-en"),
        (["{0}/run", "--reverse_to=de"], "--reverse_to has no effect without --reverse"),
        (
            ["{0}/run", "--reverse={0}/reverse", "--json", "--pieces"],
            "--pieces has no effect with --reverse",
        ),
        (["{0}/run", "--beam=2"], "Unknown command line flag 'beam'"),
        (["{0}/learned", "--pairs={0}/long"], "line 2: a target must have at most 40 pieces"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(folder, arguments, message):
    (folder / "one").write_text("One line.\n")
    (folder / "link").unlink(missing_ok=True)
    (folder / "link").symlink_to(folder / "one")
    (folder / "long").write_text("a\tb\na\t" + "Hund " * 50 + "\n")
    result = ended("score", *(each.format(folder) for each in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr and result.stdout == ""
    assert (folder / "one").read_text() == "One line.\n"
