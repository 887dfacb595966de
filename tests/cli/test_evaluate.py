"""t2t-evaluate as its users run it, on translations."""

import pytest
from commands import command

from pipelines.toy_grammar import pairs


def test_evaluate_scores_files_and_runs(toy_run, tmp_path):
    _, folder = toy_run
    sources, references = zip(*pairs(40, "test"), strict=True)
    worse = [line.replace("d", "t") for line in references]
    for name, lines in (("source", sources), ("reference", references), ("worse", worse)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    reference = f"--reference={tmp_path / 'reference'}"
    result = command(
        *("evaluate", f"--hypotheses={tmp_path / 'reference'}", reference),
        *(f"--against={tmp_path / 'worse'}", "--paper_bleu=de"),
    )
    assert result.returncode == 0, result.stderr
    assert "BLEU         100.00" in result.stdout and "tok:13a" in result.stdout
    assert "p = 0.00" in result.stdout and "paper's BLEU 100.00" in result.stdout
    output = tmp_path / "out"
    result = command(
        *("evaluate", folder, f"--source={tmp_path / 'source'}", reference),
        *("--beam=1", "--extra_length=3", f"--output={output}"),
    )
    assert result.returncode == 0, result.stderr
    assert "chrF" in result.stdout and " 40 lines" in result.stdout
    assert len(output.read_text().splitlines()) == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run (several: an ensemble) with --source, or --hypotheses"),
        (["--hypotheses={0}/one"], "needs --reference"),
        (
            ["--hypotheses={0}/one", "--reference={0}/two"],
            "same number of lines. Received: 1 and 2",
        ),
        (["{1}", "--reference={0}/two"], "for a run --source too"),
        (["{1}", "--source={0}/one", "--reference={0}/two"], "same number of lines"),
        (["{1}", "--source={0}/none", "--reference={0}/two"], "No such file"),
    ],
)
def test_evaluate_refuses_what_does_not_go_together(toy_run, tmp_path, arguments, message):
    (tmp_path / "one").write_text("a\n")
    (tmp_path / "two").write_text("a\nb\n")
    result = command("evaluate", *(each.format(tmp_path, toy_run[1]) for each in arguments))
    assert result.returncode == 2 and message in result.stderr, result.stderr
