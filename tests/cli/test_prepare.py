"""t2t-prepare: where the text comes from, and the report. tests/pipelines tests preparation."""

import json

import pytest
from support.processes.commands import SMALL_CORPUS, command
from support.processes.in_process import ended

from pipelines.batches.corpora import read_corpora
from pipelines.text.cleaning_config import STRICT
from pipelines.tokenizers import load_tokenizer


def test_the_report_is_printed_and_the_same_command_prints_it_again(toy_data, toy_corpus):
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


def test_pairs_may_come_from_standard_input(toy_data, toy_corpus):
    text = (toy_corpus / "train.tsv").read_text()
    arguments = ["--pairs=-", f"--output={toy_corpus}/from_stdin", *SMALL_CORPUS]
    result = command("prepare", *arguments, stdin=text)
    assert result.returncode == 0, result.stderr
    assert result.stdout == toy_data[0].stdout


def test_trees_become_pairs_with_a_piece_for_each_bracket(toy_corpus):
    result = command(
        *("prepare", "--config=parsing", f"--treebank={toy_corpus}/trees"),
        *(f"--output={toy_corpus}/parsed", "--config.data.vocabulary.size=275"),
    )
    assert result.returncode == 0, result.stderr
    tokenizer = load_tokenizer(toy_corpus / "parsed" / "vocabulary")
    pieces = tokenizer.pieces(tokenizer.encode(["(S (NP XX )NP )S"])[0])
    assert pieces[:2] == ["▁(S", "▁(NP"] and pieces[-2:] == ["▁)NP", "▁)S"]


def test_toy_documents_become_pairs(tmp_path):
    result = command(
        *("prepare", "--config=documents", "--toy_documents=40", "--words=60"),
        *(f"--output={tmp_path}/data", "--config.data.vocabulary.size=400"),
    )
    assert result.returncode == 0, result.stderr
    assert "40 read" in result.stdout and "40 kept" in result.stdout


def test_several_encodings_share_an_existing_vocabulary(toy_data, toy_corpus):
    folder = toy_data[1]
    result = command(
        *("prepare", f"--pairs={toy_corpus}/train.tsv", f"--output={toy_corpus}/dropout"),
        *(f"--vocabulary={folder}/vocabulary", *SMALL_CORPUS[1:], *DROPOUT),
    )
    assert result.returncode == 0, result.stderr
    assert "encodings   8 per sentence, 7 with BPE dropout: source " in result.stdout
    corpora = read_corpora(f"{folder}:1,{toy_corpus}/dropout:1")
    assert [shard.encodings for shard in corpora.store.shards] == [1, 8]


def test_noisy_text_is_cleaned_strictly_and_by_scores(toy_data, toy_corpus):
    scores = toy_corpus / "scores"
    scores.write_text("".join(f"{number % 4}\t1\t2\n" for number in range(1200)))
    result = command(
        *("prepare", f"--pairs={toy_corpus}/train.tsv", f"--output={toy_corpus}/strict"),
        *(f"--vocabulary={toy_data[1]}/vocabulary", *SMALL_CORPUS[1:], "--strict"),
        *("--languages=en,de", f"--scores={scores}", "--min_score=2"),
        "--config.data.cleaning.max_similarity=0",
    )
    assert result.returncode == 0, result.stderr
    assert "600 low score" in result.stdout and "low score (low_score, 600)" in result.stdout
    recorded = json.loads((toy_corpus / "strict" / "preparation.json").read_text())
    assert recorded["min_score"] == 2 and recorded["cleaning"]["languages"] == ["en", "de"]
    assert recorded["cleaning"]["min_digits"] == STRICT["min_digits"]
    assert recorded["cleaning"]["max_similarity"] == 0, "an override stays"


DROPOUT = ["--config.data.encodings.per_sentence=8", "--config.data.encodings.bpe_dropout=0.1"]
PAIRS = ["--pairs={0}/train.tsv", "--output={0}/z"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output=x"], "Give the text in one way"),
        (["--source={0}/train.en", "--output=x"], "Give the text in one way"),
        (["--pairs={0}/train.tsv", "--tfds=x", "--output=x"], "Give the text in one way"),
        (["--pairs={0}/train.tsv"], "--output=FOLDER is required"),
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
        ([*PAIRS, "--languages=en"], "--languages: give the codes of source and target"),
        ([*PAIRS, "--languages=en,German"], "--languages: a language must be given by its code"),
        (["--toy_documents=9", "--languages=en,de", "--output=x"], "--languages has no effect"),
        ([*PAIRS, "--strict"], "`other_language` needs the languages of both sides"),
        ([*PAIRS, "--scores={0}/train.tsv"], "--scores needs either --best or --min_score"),
        ([*PAIRS, "--scores={0}/train.tsv", "--best=0.5"], "line 1: a line of scores must begin"),
        ([*PAIRS, "--scores={0}/train.tsv", "--best=2"], "`best` must be above 0 and at most 1"),
        ([*PAIRS, "--best=0.5"], "--best has no effect without --scores"),
        (["--toy_documents=9", "--output=x", "--strict"], "--strict has no effect without"),
        ([*PAIRS, "--split=train"], "--split has no effect without --tfds or --toy_documents"),
        ([*PAIRS, "--words=9"], "--words has no effect without --toy_documents"),
        (["--toy_documents=9", "--words=9", "--output=x"], "Received: shortest=20"),
        (["--toy_documents=9", "--split=dev", "--output=x"], "splits train and test"),
        (["--toy_documents=9", "--pairs=x", "--output=x"], "Give the text in one way"),
        ([*PAIRS, "--data_dir=x"], "--data_dir has no effect without --tfds"),
        ([*PAIRS, "--leaves=XX"], "--leaves has no effect without --treebank"),
        ([*PAIRS, "--beam_options=--runner=X"], "--beam_options has no effect without --beam"),
        ([*PAIRS, "--config.model.d_ff=9"], "--config.model.d_ff has no effect on prepared data"),
        ([*PAIRS, "--config.search.beam=9"], "--config.search.beam has no effect on prepared"),
        (
            [*PAIRS, "--config.data.encodings.per_sentence=8"],
            "Set `encodings.per_sentence` to at least 2 and `encodings.bpe_dropout` above 0",
        ),
        (
            [*PAIRS, *DROPOUT, "--config.data.vocabulary.kind=word_pieces"],
            "need a vocabulary of kind 'bpe'",
        ),
        (
            [*PAIRS, "--vocabulary=x", "--config.data.vocabulary.size=9"],
            "--config.data.vocabulary.size has no effect with --vocabulary",
        ),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(toy_data, toy_corpus, arguments, message):
    result = ended("prepare", *(argument.format(toy_corpus) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
