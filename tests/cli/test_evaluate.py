"""t2t-evaluate on translations. Scores are tested in tests/runs and tests/evaluation."""

import gzip
import json
import subprocess
import sys

import pytest
from support.processes.commands import command
from support.processes.in_process import call, ended
from support.runs.untrained import toy_tokenizer, untrained_run

from pipelines.toy.grammar import pairs
from t2t_keras.runs import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained run, and 40 sentences with references and worse translations."""
    folder = tmp_path_factory.mktemp("evaluate")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    untrained_run(folder / "run", folder / "vocabulary", tokenizer, end=4.0)
    sources, references = zip(*pairs(40, "test"), strict=True)
    worse = [line.replace("d", "t") for line in references]
    upper = [line.upper() for line in references]
    texts = {"source": sources, "reference": references, "worse": worse, "one": ["a"]}
    texts["upper"] = upper
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    (folder / "link").hardlink_to(folder / "reference")
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


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["--metrics=ter,bleu,chrf"], []),
        (
            ["--metrics=bleu,chrf++,ter", "--lowercase", "--tokenize=intl"],
            ["-lc", "--chrf-lowercase", "--tokenize=intl", "--chrf-word-order=2"],
        ),
        (
            ["--metrics=bleu,chrf,ter", "--tokenize=zh"],
            ["--tokenize=zh", "--ter-normalized", "--ter-asian-support"],
        ),
        (["--metrics=bleu,chrf,ter", "--tokenize=none"], ["--tokenize=none"]),
    ],
)
@pytest.mark.long
def test_scores_are_those_of_the_sacrebleu_command(folder, ours, theirs):
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
    one, two = (
        [f"--hypotheses={folder}/worse", *(f"--reference={folder}/{name}" for name in names)]
        for names in (["reference"], ["reference", "worse"])
    )
    plain = call("evaluate", *one, "--metrics=ter").stdout
    assert plain.startswith("TER ") and plain.count("lines") == 1
    assert call("evaluate", *two, "--metrics=ter").stdout.startswith("TER            0.00")
    flags = ["--metrics=ter,bleu", f"--against={folder}/reference", "--paper_bleu=de", "--json"]
    result = json.loads(call("evaluate", *one, *flags).stdout)
    names = ["BLEU", "TER", "paper's BLEU"]
    assert [score["name"] for score in result["scores"]] == names
    assert [score["name"] for score in result["against"]] == names
    assert result["against"][1]["score"] == 0 < result["scores"][1]["score"]
    assert all(score["p_value"] < 0.05 for score in result["scores"][:2])
    assert "p_value" not in result["against"][0]


def test_compressed_files_are_scored_as_if_they_were_not(folder, tmp_path):
    for name in ("worse", "reference"):
        (tmp_path / name).write_bytes(gzip.compress((folder / name).read_bytes()))
    plain, zipped = (
        call("evaluate", f"--hypotheses={each}/worse", f"--reference={each}/reference").stdout
        for each in (folder, tmp_path)
    )
    assert plain == zipped and "  40 lines" in plain and "100.00" not in plain


def test_a_run_is_scored_and_its_translations_are_written(folder, tmp_path):
    files = [f"--source={folder}/source", f"--reference={folder}/reference"]
    flags = ["--beam=1", "--extra_length=3", f"--output={tmp_path / 'out'}"]
    result = command("evaluate", folder / "run", *files, *flags)
    assert result.returncode == 0, result.stderr
    assert "chrF" in result.stdout and " 40 lines" in result.stdout
    assert len((tmp_path / "out").read_text().splitlines()) == 40
    flags = [f"--hypotheses={tmp_path / 'out'}", f"--reference={folder}/reference"]
    assert call("evaluate", *flags).stdout == result.stdout


@pytest.mark.long
def test_an_export_is_scored_as_its_run(folder, tmp_path):
    exports = {"saved": folder / "run" / "export", "ctranslate2": tmp_path / "ctranslate2"}
    Run(folder / "run").export(beam=2, extra_length=3)
    Run(folder / "run").export(exports["ctranslate2"], "ctranslate2", beam=2, extra_length=3)
    files = [f"--source={folder}/source", f"--reference={folder}/reference"]
    search = ["--beam=1", "--alpha=0"]
    expected = call("evaluate", folder / "run", *files, *search, "--extra_length=3").stdout
    for export in exports.values():
        output = tmp_path / "out"
        assert call("evaluate", export, *files, *search, f"--output={output}").stdout == expected
        output.write_text("kept")
        for flag, message in REFUSED_BY_EXPORTS:
            with pytest.raises(ValueError, match=message):
                call("evaluate", export, *files, f"--output={output}", flag)
            assert [*tmp_path.glob("out*")] == [output] and output.read_text() == "kept"
    with pytest.raises(ValueError, match="--treebank takes a run, no export"):
        call("evaluate", exports["saved"], f"--treebank={folder}/source")


REFUSED_BY_EXPORTS = [
    ("--weights=best", "--weights has no effect with an export: t2t-export fixed"),
    ("--first=a", "--first does not work with"),
    ("--sample", "--sample does not work with"),
    ("--to=de", "has no tag 'de'"),
]
RUN = ["{0}/run", "--source={0}/source", "--reference={0}/reference"]
FILE = ["--hypotheses={0}/worse", "--reference={0}/reference"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run (several: an ensemble) with --source, or --hypotheses"),
        (["{0}/run", "--hypotheses={0}/one"], "takes a run (several: an ensemble)"),
        (["--hypotheses={0}/one"], "--reference is required"),
        (["{0}/run", "--reference={0}/source"], "--source"),
        (
            ["--hypotheses={0}/one", "--reference={0}/reference"],
            "same number of lines. Received: 1 and 40",
        ),
        (["{0}/run", "--source={0}/one", "--reference={0}/source"], "same number of lines"),
        ([*RUN, "--against={0}/one"], "--against and --reference must have the same number"),
        ([*RUN, "--output={0}/reference"], "--output and --reference are the same file"),
        ([*RUN, "--output={0}/link"], "--output and --reference are the same file"),
        ([*RUN, "--output={0}/run/../source"], "--output and --source are the same file"),
        ([*RUN, "--against={0}/worse", "--output={0}/worse"], "--against are the same file"),
        ([*RUN, "--output={0}/run/config.json"], "and a file of the run are the same file"),
        ([*RUN, "--output={0}/none/out"], "No such file or directory"),
        ([*RUN, "--leaves=XX"], "--leaves has no effect without --treebank: leave it out"),
        ([*FILE, "--source={0}/source"], "--source has no effect with --hypotheses"),
        ([*FILE, "--output={0}/out"], "--output has no effect with --hypotheses"),
        ([*FILE, "--weights=best"], "--weights has no effect with --hypotheses"),
        ([*FILE, "--beam=2"], "--beam has no effect with --hypotheses"),
        ([*FILE, "--reference={0}/one"], "must have the same number of lines. Received: 40 in"),
        ([*FILE, "--metrics=blue"], "must be one of 'bleu', 'chrf', 'chrf++', 'ter' (did you mean"),
        ([*FILE, "--metrics="], "--metrics: give at least one of bleu, chrf, chrf++, ter"),
        ([*FILE, "--metrics=ter", "--lowercase"], "--lowercase has no effect on TER alone"),
        ([*FILE, "--metrics=chrf", "--tokenize=zh"], "--tokenize has no effect without"),
        ([*FILE, "--leaves=XX"], "--leaves has no effect without --treebank"),
        (["{0}/run", "--source={0}/none", "--reference={0}/source"], "No such file"),
        (["{0}/none", "--source={0}/source", "--reference={0}/source"], "is not a run"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(folder, arguments, message):
    result = ended("evaluate", *(each.format(folder) for each in arguments))
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert result.stdout == "" and not (folder / "out").exists()
    assert len((folder / "reference").read_text().splitlines()) == 40
