"""t2t-prepare: where the text comes from, and the report. tests/pipelines tests preparation."""

import json

import pytest
from support.processes.commands import SMALL_CORPUS
from support.processes.in_process import ended, refused

from pipelines.batches.corpora import read_corpora
from pipelines.text.cleaning_rules import STRICT
from pipelines.tokenizers import load_tokenizer

DROPOUT = ["--config.data.encodings.per_sentence=8", "--config.data.encodings.bpe_dropout=0.1"]


def prepared(*arguments, stdin=""):
    result = ended("prepare", *arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.long
def test_the_report_is_printed_and_the_same_command_prints_it_again(toy_data, toy_corpus):
    result, folder = toy_data
    assert result.returncode == 0, result.stderr
    assert "1,200 read" in result.stdout and "400 pieces (bpe)" in result.stdout
    assert "encoding: " in result.stderr
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    again = prepared(*files, f"--output={folder}", *SMALL_CORPUS)
    assert again.stdout == result.stdout
    assert "encoding" not in again.stderr


def test_pairs_may_come_from_standard_input(toy_data, toy_corpus, tmp_path):
    text = (toy_corpus / "train.tsv").read_text()
    result = prepared("--pairs=-", f"--output={tmp_path}/data", *SMALL_CORPUS, stdin=text)
    assert result.stdout == toy_data[0].stdout


def test_trees_become_pairs_with_a_piece_for_each_bracket(toy_corpus, tmp_path):
    prepared(
        *("--config=parsing", f"--treebank={toy_corpus}/trees"),
        *(f"--output={tmp_path}/parsed", "--config.data.vocabulary.size=275"),
    )
    tokenizer = load_tokenizer(tmp_path / "parsed" / "vocabulary")
    pieces = tokenizer.pieces(tokenizer.encode(["(S (NP XX )NP )S"])[0])
    assert pieces[:2] == ["▁(S", "▁(NP"] and pieces[-2:] == ["▁)NP", "▁)S"]


def test_several_encodings_share_an_existing_vocabulary(toy_data, toy_corpus, tmp_path):
    folder = toy_data[1]
    result = prepared(
        *(f"--pairs={toy_corpus}/train.tsv", f"--output={tmp_path}/dropout"),
        *(f"--vocabulary={folder}/vocabulary", *SMALL_CORPUS[1:], *DROPOUT),
    )
    assert "encodings   8 per sentence, 7 with BPE dropout: source " in result.stdout
    corpora = read_corpora(f"{folder}:1,{tmp_path}/dropout:1")
    assert [shard.encodings for shard in corpora.store.shards] == [1, 8]


def test_noisy_text_is_cleaned_strictly_and_by_scores(toy_data, toy_corpus, tmp_path):
    scores = tmp_path / "scores"
    scores.write_text("".join(f"{number % 4}\t1\t2\n" for number in range(1200)))
    result = prepared(
        *(f"--pairs={toy_corpus}/train.tsv", f"--output={tmp_path}/strict"),
        *(f"--vocabulary={toy_data[1]}/vocabulary", *SMALL_CORPUS[1:], "--strict"),
        *("--languages=en,de", f"--scores={scores}", "--min_score=2"),
        "--config.data.cleaning.max_similarity=0",
    )
    assert "600 low score" in result.stdout and "low score (low_score, 600)" in result.stdout
    recorded = json.loads((tmp_path / "strict" / "preparation.json").read_text())
    assert recorded["min_score"] == 2 and recorded["cleaning"]["languages"] == ["en", "de"]
    assert recorded["cleaning"]["min_digits"] == STRICT["min_digits"]
    assert recorded["cleaning"]["max_similarity"] == 0, "an override stays"


PAIRS = "--pairs={0}/train.tsv --output={1}/z"
MISTAKES = {
    "--output=x": "Give the text in one way",
    "--toy_documents=9 --treebank=x --output=x": "Give the text in one way",
    "--pairs={0}/train.tsv": "--output=FOLDER is required",
    "--source={0}/train.en --target={0}/short.de --output={1}/x": "de has 1. Line n",
    "--pairs={0}/train.en --output={1}/y": "line 1: a pair needs a tab",
    "--pairs={0}/no.tsv --output={1}/y": "There is no pairs file",
    "--pairs={0}/train.tsv --output={0}/train.en": "File exists",
    "--pairs={0}/train.tsv --output={0}/data --config.data.vocabulary.size=400": (
        "prepared from different input or settings"
    ),
    PAIRS: "can have at most",
    "--pairs=x --output=x --vocabulary={0}": "holds no readable vocabulary",
    "--pairs=x --output=x --config.data.vocabulary.kind=bep": "`vocabulary.kind` must be one of",
    f"{PAIRS} --languages=en": "--languages: give the codes of source and target",
    "--toy_documents=9 --languages=en,de --output=x": "--languages has no effect",
    f"{PAIRS} --strict": "`other_language` needs the languages of both sides",
    f"{PAIRS} --scores={{0}}/train.tsv": "--scores needs either --best or --min_score",
    f"{PAIRS} --scores={{0}}/train.tsv --best=0.5": "line 1: a line of scores must begin",
    f"{PAIRS} --column=weights": "--column must be NAME=FILE, with each name once",
    f"{PAIRS} --column=weight={{0}}/train.en": "(did you mean 'weights'?)",
    "--toy_documents=9 --output=x --column=weights=x": "--column has no effect without",
    "--toy_documents=9 --output=x --strict": "--strict has no effect without",
    "--toy_documents=9 --words=9 --output=x": "Received: shortest=20",
    "--toy_documents=9 --split=dev --output=x": "one of 'train', 'test'",
    f"{PAIRS} --config.model.d_ff=9": "--config.model.d_ff has no effect on prepared data",
    f"{PAIRS} {DROPOUT[0]}": "and `encodings.bpe_dropout` above 0",
    f"{PAIRS} {' '.join(DROPOUT)} --config.data.vocabulary.kind=word_pieces": "of kind 'bpe'",
    f"{PAIRS} --vocabulary=x --config.data.vocabulary.size=9": (
        "--config.data.vocabulary.size has no effect with --vocabulary"
    ),
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(toy_data, toy_corpus, tmp_path, line, message):
    assert message in refused("prepare", line, toy_corpus, tmp_path)
