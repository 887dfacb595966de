"""t2t-parameters: the counts of one config and of Table 3."""

import pytest
from support.processes.in_process import call, ended, refused

from t2t_keras import config_files


def test_the_weights_of_a_config_are_counted_with_its_changes():
    result = ended("parameters", "--config=table3:B_dk16", "--config.model.d_ff=1024")
    assert result.returncode == 0, result.stderr
    assert "d_ff=1024" in result.stdout and "d_k=16" in result.stdout
    assert result.stdout.split()[-1] == f"{55_967_744 - 12 * (2 * 512 * 1024 + 1024):,}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--config=base --config.training.steps=5", "no effect on the number of weights: leave it"),
        ("--diagram={0}", "--diagram has no effect without --config"),
        ("--config=base --diagram=model.jpg", "must be a PNG file, such as base.png"),
        ("--config=gnmt:multi30k --diagram={0}", "Received: GNMT"),
    ],
)
def test_a_mistake_is_named(tmp_path, line, message):
    assert message in refused("parameters", line, tmp_path / "model.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_diagram_of_the_model_is_drawn(tmp_path):
    picture = tmp_path / "model.png"
    result = ended("parameters", "--config=base", f"--diagram={picture}")
    assert "63,045,632" in result.stdout, result.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_without_a_config_the_rows_of_table_3_are_counted(monkeypatch):
    table3 = config_files.load_config_file(config_files.find_config("table3"))
    rows = {name: table3.MODELS[name] for name in ("base", "B_dk16", "E_learned")}
    monkeypatch.setattr(table3, "MODELS", rows)
    monkeypatch.setattr(config_files, "load_config_file", lambda path: table3)
    lines = call("parameters").stdout.splitlines()
    assert [line.split() for line in lines[4:]] == [
        ["B_dk16", "55.97", "-7.08", "58.07", "-7.08", "58", "-7"],
        ["E_learned", "64.09", "+1.05", "66.19", "+1.05"],
    ]
    assert lines[3].split()[::2] == ["base", "+0.00", "+0.00", "+0"]
