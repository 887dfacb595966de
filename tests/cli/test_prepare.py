"""t2t-prepare as its users run it, and what is timed of its work."""

import pytest
from commands import SMALL_CORPUS, command

from pipelines.tokenizers import load_tokenizer


def test_prepare_reports_and_says_it_again(toy_data, toy_corpus):
    result, folder = toy_data
    assert result.returncode == 0, result.stderr
    assert "1,200 read" in result.stdout and "400 pieces (bpe)" in result.stdout
    assert "encoding: " in result.stderr
    again = command(
        *("prepare", f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"),
        *(f"--output={folder}", *SMALL_CORPUS),
    )
    assert again.stdout == result.stdout
    assert "encoding" not in again.stderr


def test_prepare_reads_tabs_from_standard_input(toy_data, toy_corpus):
    text = (toy_corpus / "train.tsv").read_text()
    result = command(
        "prepare", "--pairs=-", f"--output={toy_corpus}/from_stdin", *SMALL_CORPUS, stdin=text
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == toy_data[0].stdout


def test_prepare_reads_trees(toy_corpus):
    result = command(
        *("prepare", "--config=parsing", f"--treebank={toy_corpus}/trees"),
        *(f"--output={toy_corpus}/parsed", "--config.data.vocabulary.size=275"),
    )
    assert result.returncode == 0, result.stderr
    tokenizer = load_tokenizer(toy_corpus / "parsed" / "vocabulary")
    pieces = tokenizer.pieces(tokenizer.encode(["(S (NP XX )NP )S"])[0])
    assert pieces[:2] == ["▁(S", "▁(NP"] and pieces[-2:] == ["▁)NP", "▁)S"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output=x"], "Say where the text is, in one way"),
        (["--source={0}/train.en", "--output=x"], "Say where the text is, in one way"),
        (["--pairs={0}/train.tsv", "--tfds=x", "--output=x"], "Say where the text is, in one way"),
        (["--pairs={0}/train.tsv"], "--output=FOLDER is needed"),
        (["--source={0}/train.en", "--target={0}/short.de", "--output={0}/x"], "de has 1. Line n"),
        (["--pairs={0}/train.en", "--output={0}/y"], "line 1: a pair needs a tab"),
        (["--pairs={0}/no.tsv", "--output={0}/y"], "There is no pairs file"),
        (["--pairs={0}/train.tsv", "--output={0}/train.en"], "File exists"),
        (
            ["--pairs={0}/train.tsv", "--output={0}/data", *SMALL_CORPUS[:1]],
            "prepared from different input or settings",
        ),
        (["--pairs={0}/train.tsv", "--output={0}/z"], "can have at most"),
        (["--pairs=x", "--output=x", "--vocabulary={0}"], "holds no readable vocabulary"),
        (["--pairs=x", "--output=x", "--config.data.vocabulary.kind=bep"], "`kind` must be one of"),
    ],
)
def test_prepare_names_what_is_wrong(toy_data, toy_corpus, arguments, message):
    result = command("prepare", *(argument.format(toy_corpus) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
