"""t2t-score on runs that have learned nothing: what it prints, and what it refuses."""

import json
import math
import re

import pytest
from commands import command
from untrained import toy_tokenizer, untrained_run

from pipelines.tokenizers import load_tokenizer
from pipelines.toy_grammar import pairs

PAIRS = pairs(20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs, one with sinusoids and one with 40 learned positions; and the pairs as text."""
    folder = tmp_path_factory.mktemp("score")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    for positions in ("sinusoidal", "learned"):
        settings = {"positions": positions, "max_length": 40}
        untrained_run(folder / positions, folder / "vocabulary", tokenizer, **settings)
    (folder / "test.en").write_text("".join(f"{english}\n" for english, _ in PAIRS))
    (folder / "test.de").write_text("".join(f"{german}\n" for _, german in PAIRS))
    (folder / "test.tsv").write_text("".join(f"{e}\t{g}\n" for e, g in PAIRS))
    return folder


def score(folder, *arguments, run="sinusoidal", **options):
    return command("score", folder / run, *(str(each) for each in arguments), **options)


def rows_of(result):
    assert result.returncode == 0, result.stderr
    return [tuple(map(float, line.split("\t"))) for line in result.stdout.splitlines()]


def test_a_line_for_each_pair_and_a_total(folder):
    result = score(folder, f"--source={folder}/test.en", f"--target={folder}/test.de")
    rows = rows_of(result)
    assert len(rows) == len(PAIRS)
    tokenizer = load_tokenizer(folder / "vocabulary")
    for (log_p, perplexity, pieces), (_, target) in zip(rows, PAIRS, strict=True):
        assert pieces == len(tokenizer.encode([target])[0]) + 1, "its end included"
        assert math.isclose(perplexity, math.exp(-log_p / pieces), rel_tol=1e-4)
    log_p, pieces = sum(row[0] for row in rows), sum(row[2] for row in rows)
    total = result.stderr.strip().splitlines()[-1]
    assert total.startswith(f"20 pairs, {pieces:,.0f} pieces, log P a piece ")
    said = [float(number) for number in re.findall(r"-?\d+\.\d+", total)]
    assert said == pytest.approx([log_p / pieces, math.exp(-log_p / pieces)], rel=1e-4)


def test_tabs_from_a_file_and_from_standard_input_are_the_same(folder, tmp_path):
    expected = rows_of(score(folder, f"--source={folder}/test.en", f"--target={folder}/test.de"))
    text = (folder / "test.tsv").read_text()
    kept = score(folder, "--pairs=-", f"--output={tmp_path}/out", stdin=text)
    assert kept.stdout == ""
    kept.stdout = (tmp_path / "out").read_text()
    some = score(folder, f"--pairs={folder}/test.tsv", "--lines=3")
    for result in (kept, some, score(folder, stdin=text)):
        for row, wanted in zip(rows_of(result), expected, strict=True):
            assert row == pytest.approx(wanted, rel=1e-4)


def test_json_tells_everything(folder):
    plain = rows_of(score(folder, f"--pairs={folder}/test.tsv"))
    result = score(folder, f"--pairs={folder}/test.tsv", "--json", "--pieces")
    assert result.returncode == 0, result.stderr
    for line, pair, row in zip(result.stdout.splitlines(), PAIRS, plain, strict=True):
        found = json.loads(line)
        assert (found["source"], found["target"]) == tuple(pair)
        assert (found["log_p"], found["perplexity"], found["tokens"]) == pytest.approx(
            row, abs=1e-3
        )
        pieces = found["pieces"]
        assert pieces[-1]["piece"] == "</s>" and len(pieces) == found["tokens"]
        assert "".join(p["piece"] for p in pieces[:-1]).replace("▁", " ").strip() == pair[1]
        assert sum(p["log_p"] for p in pieces) == pytest.approx(found["log_p"], abs=1e-4)
    assert "pieces" not in score(folder, "--json", stdin="a\tb\n").stdout


def test_a_translation_has_the_log_p_that_its_score_says(folder):
    options = ["--json", "--extra_length=20", "--alpha=0.6", "--beam=4", "--n_best=4"]
    result = command("translate", folder / "sinusoidal", *options, stdin=f"{PAIRS[0][0]}\n")
    assert result.returncode == 0, result.stderr
    for found in json.loads(result.stdout)["translations"]:
        pair = f"{PAIRS[0][0]}\t{found['text']}\n"
        ((log_p, _, pieces),) = rows_of(score(folder, stdin=pair))
        assert log_p == pytest.approx(found["score"] * ((5 + pieces) / 6) ** 0.6, abs=1e-4)


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
    b"last without an end\tx",
]


def test_every_line_is_answered_whatever_it_is(folder, tmp_path):
    (tmp_path / "in").write_bytes(b"\n".join(UGLY))
    rows = rows_of(score(folder, f"--pairs={tmp_path}/in"))
    assert len(rows) == len(UGLY)
    assert all(log_p < 0 and math.isfinite(perplexity) for log_p, perplexity, _ in rows)
    assert [rows[n][2] for n in (1, 2, 3, 5)] == [1, 1, 1, 1], "nothing but the end"
    assert rows[1] == pytest.approx(rows[2], rel=1e-4) and rows[1] == pytest.approx(rows[3], 1e-4)
    result = score(folder, f"--pairs={tmp_path}/in", "--json", "--pieces", "--lines=1")
    assert result.returncode == 0, result.stderr
    assert [json.loads(line)["tokens"] for line in result.stdout.split("\n")[:-1]] == [
        row[2] for row in rows
    ]


def test_nothing_to_score(folder):
    result = score(folder)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.endswith("no pairs\n")


def test_learned_positions_refuse_a_longer_line(folder):
    text = "a\tb\n" * 3 + "a\t" + "Hund " * 50 + "\n"
    result = score(folder, run="learned", stdin=text)
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert "line 4: a target must have at most 40 pieces" in result.stderr.splitlines()[-1]
    assert len(rows_of(score(folder, run="learned", stdin=text[:12]))) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run's folder, or several that score together. Received: none"),
        (["{0}"], "is no run"),
        (["{0}/sinusoidal", "--source={0}/test.en"], "in one way: --source and --target, --pairs"),
        (
            ["{0}/sinusoidal", "--source={0}/a", "--target={0}/b", "--pairs={0}/c"],
            "Received: --source, --target, --pairs",
        ),
        (
            ["{0}/sinusoidal", "--source={0}/test.en", "--target={0}/one"],
            "must have the same number of lines. Received: 20 and 1",
        ),
        (["{0}/sinusoidal", "--pairs={0}/none"], "No such file"),
        (["{0}/sinusoidal", "--pairs={0}/one"], "line 1: a pair needs a tab"),
        (["{0}/sinusoidal", "--pairs={0}/one", "--output={0}/./one"], "are the same file"),
        (["{0}/sinusoidal", "--pairs={0}/test.tsv", "--pieces"], "--pieces goes with --json"),
        (["{0}/sinusoidal", "--pairs={0}/test.tsv", "--weights=best"], "has no weights 'best'"),
        (["{0}/sinusoidal", "--beam=2"], "Unknown command line flag 'beam'"),
    ],
)
def test_score_names_what_is_wrong(folder, arguments, message):
    (folder / "one").write_text("One line.\n")
    result = command("score", *(each.format(folder) for each in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr and result.stdout == ""
    assert (folder / "one").read_text() == "One line.\n"


def test_a_line_without_a_tab_is_named(folder):
    result = score(folder, "--lines=1", stdin="a\tb\n\nno tab\n")
    assert result.returncode == 2
    assert "line 3: a pair needs a tab" in result.stderr.splitlines()[-1]
    assert len(result.stdout.splitlines()) == 2, "what came before it is answered"


@pytest.mark.parametrize("lines", [1, 5000])
def test_it_ends_quietly_when_nobody_reads_on(folder, lines):
    result = score(folder, f"--pairs={folder}/test.tsv", f"--lines={lines}", read=False)
    assert result.returncode == 0, result.stderr
    assert "Error" not in result.stderr and "Exception" not in result.stderr
