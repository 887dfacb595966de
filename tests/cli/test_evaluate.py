"""t2t-evaluate on translations. Scores are tested in tests/runs and tests/evaluation."""

import gzip
import json
import subprocess
import sys

import pytest
from support.processes.in_process import call, refused

from pipelines.toy.grammar import pairs
from t2t_keras.runs import Run


@pytest.fixture(scope="module")
def folder(new_run, tmp_path_factory):
    """An untrained run, and 40 sentences with references and worse translations."""
    folder = tmp_path_factory.mktemp("evaluate")
    new_run(folder / "run", end=4.0)
    sources, references = zip(*pairs(40, "test"), strict=True)
    texts = {"source": sources, "reference": references, "one": ["a"]}
    texts["worse"] = [line.replace("d", "t") for line in references]
    texts["upper"] = [line.upper() for line in references]
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_a_file_is_scored_and_compared_with_a_second_one(folder):
    flags = [f"--hypotheses={folder}/reference", f"--reference={folder}/reference"]
    output = call("evaluate", *flags, f"--against={folder}/worse", "--paper_bleu=de").stdout
    lines = output.splitlines()
    assert [line[:12].strip() for line in lines[:6:2]] == ["BLEU", "chrF", "paper's BLEU"]
    assert all(" 100.00" in line and "  40 lines" in line for line in lines[:6:2])
    assert "±" in lines[0] and ", p = 0.00" in lines[0]
    assert "tok:13a" in lines[1]
    assert lines[6] == f"against {folder}/worse:"
    assert lines[7].startswith("BLEU ") and "p = " not in lines[7]


@pytest.mark.long
def test_scores_are_those_of_the_sacrebleu_command(folder):
    ours = ["--metrics=bleu,chrf++,ter", "--lowercase", "--tokenize=intl"]
    theirs = ["-lc", "--chrf-lowercase", "--tokenize=intl", "--chrf-word-order=2"]
    files = [f"--hypotheses={folder}/worse", f"--reference={folder}/reference,{folder}/upper"]
    result = json.loads(call("evaluate", *files, *ours, "--json").stdout)
    assert result["files"]["reference"] == [f"{folder}/reference", f"{folder}/upper"]
    arguments = [f"{folder}/reference", f"{folder}/upper", "-i", f"{folder}/worse", "-w=9"]
    arguments += ["--format=json", "--confidence", "--metrics", "bleu", "chrf", "ter", *theirs]
    command = [sys.executable, "-m", "sacrebleu", *arguments]
    expected = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    for score, command_score in zip(result["scores"], expected, strict=True):
        assert score["score"] == pytest.approx(command_score["score"], abs=1e-8)
        assert score["interval"] == pytest.approx(command_score["confidence_var"], abs=1e-8)
        assert score["signature"] == command_score["signature"]
        assert "nrefs:2|bs:1000|seed:12345|" in score["signature"] and score["lines"] == 40


def test_a_second_reference_helps_and_a_comparison_has_all_metrics(folder):
    one = [f"--hypotheses={folder}/worse", f"--reference={folder}/reference"]
    plain, with_second = (
        call("evaluate", *one, *second, "--metrics=ter").stdout
        for second in ([], [f"--reference={folder}/worse"])
    )
    assert plain.startswith("TER ") and plain.count("lines") == 1
    assert with_second.startswith("TER            0.00")
    flags = ["--metrics=ter,bleu", f"--against={folder}/reference", "--paper_bleu=de", "--json"]
    result = json.loads(call("evaluate", *one, *flags).stdout)
    for scores in (result["scores"], result["against"]):
        assert [score["name"] for score in scores] == ["BLEU", "TER", "paper's BLEU"]
    assert result["against"][1]["score"] == 0 < result["scores"][1]["score"]
    assert all(score["p_value"] < 0.05 for score in result["scores"][:2])
    assert "p_value" not in result["against"][0]


@pytest.mark.long
def test_a_run_is_scored_and_its_translations_are_written_also_compressed(folder, tmp_path):
    files = [f"--source={folder}/source", f"--reference={folder}/reference"]
    flags = ["--beam=1", "--extra_length=3", f"--output={tmp_path / 'out.gz'}"]
    output = call("evaluate", folder / "run", *files, *flags).stdout
    assert "chrF" in output and " 40 lines" in output
    assert len(gzip.decompress((tmp_path / "out.gz").read_bytes()).splitlines()) == 40
    flags = [f"--hypotheses={tmp_path / 'out.gz'}", f"--reference={folder}/reference"]
    assert call("evaluate", *flags).stdout == output


@pytest.mark.long
def test_an_export_is_scored_as_its_run(folder, tmp_path):
    export = tmp_path / "export"
    Run(folder / "run").export(export, "ctranslate2", beam=2, extra_length=3)
    files = [f"--source={folder}/source", f"--reference={folder}/reference"]
    search, output = ["--beam=1", "--alpha=0"], tmp_path / "out"
    expected = call("evaluate", folder / "run", *files, *search, "--extra_length=3").stdout
    assert call("evaluate", export, *files, *search, f"--output={output}").stdout == expected
    output.write_text("kept")
    with pytest.raises(ValueError, match="--first does not work with"):
        call("evaluate", export, *files, f"--output={output}", "--first=a")
    assert [*tmp_path.glob("out*")] == [output] and output.read_text() == "kept"
    with pytest.raises(ValueError, match="--treebank takes a run, no export"):
        call("evaluate", export, f"--treebank={folder}/source")


RUN = "{0}/run --source={0}/source --reference={0}/reference"
FILE = "--hypotheses={0}/worse --reference={0}/reference"
MISTAKES = {
    "": "takes a run (several: an ensemble) with --source, or --hypotheses",
    "--hypotheses={0}/one": "--reference is required",
    "{0}/run --reference={0}/source": "--reference is required, and for a run also --source",
    "--hypotheses={0}/one --reference={0}/reference": "number of lines. Received: 1 and 40",
    "{0}/run --source={0}/one --reference={0}/source": "same number of lines",
    f"{RUN} --against={{0}}/one": "reference and --against must have the same number",
    f"{RUN} --output={{0}}/source": "--output and --source are the same file",
    f"{RUN} --output={{0}}/none/out": "No such file or directory",
    f"{FILE} --source={{0}}/source": "--source has no effect with --hypotheses",
    f"{FILE} --column=domain": "--column must be NAME=FILE, with each name once",
    f"{FILE} --column=a={{0}}/one": "--column has no effect with --metrics=bleu,chrf",
    f"{FILE} --comet_model=a": "--comet_model has no effect with --metrics=bleu,chrf",
    f"{FILE} --metrics=comet --column=sorce={{0}}/one": "did you mean 'source'",
    f"{FILE} --metrics=comet --comet_model=a": "needs the column 'source', see --column",
    f"{RUN} --mbr_metric=ter": "--mbr_metric has no effect without --mbr",
    f"{FILE} --reference={{0}}/one": "must have the same number of lines. Received: 40 and",
    f"{FILE} --metrics=blue": "one of 'bleu', 'chrf', 'chrf++', 'ter', 'comet' (did you mean",
    f"{FILE} --metrics=": "--metrics: give at least one of bleu, chrf, chrf++, ter, comet",
    f"{FILE} --metrics=ter --lowercase": "--lowercase has no effect with --metrics=ter",
    f"{FILE} --metrics=chrf --tokenize=zh": "--tokenize has no effect with --metrics=chrf",
    f"{FILE} --paper_bleu=xx": "paper_bleu",
    "{0}/none --source={0}/source --reference={0}/source": "is not a run",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(folder, line, message):
    assert message in refused("evaluate", line, folder)
    assert not (folder / "out").exists()
    assert len((folder / "reference").read_text().splitlines()) == 40
