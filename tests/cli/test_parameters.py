"""t2t-parameters: the counts of one config and of Table 3."""

import pytest
from support.processes.commands import command
from support.processes.in_process import call


def test_the_weights_of_a_config_are_counted_with_its_changes():
    result = command("parameters", "--config=table3:B_dk16", "--config.model.d_ff=1024")
    assert result.returncode == 0, result.stderr
    assert "d_ff=1024" in result.stdout and "d_k=16" in result.stdout
    assert result.stdout.split()[-1] == f"{55_967_744 - 12 * (2 * 512 * 1024 + 1024):,}"


def test_settings_other_than_the_models_are_refused():
    result = command("parameters", "--config=base", "--config.training.steps=5")
    message = "--config.training.steps has no effect on the number of weights: leave it out"
    assert result.returncode == 2 and message in result.stderr


def test_a_diagram_needs_a_config_with_a_transformer(tmp_path):
    picture = tmp_path / "model.png"
    with pytest.raises(ValueError, match="Give both, such as --config=base"):
        call("parameters", f"--diagram={picture}")
    for other in ("model.jpg", ""):
        with pytest.raises(ValueError, match=r"must be a PNG file, such as base\.png"):
            call("parameters", "--config=base", f"--diagram={other}")
    with pytest.raises(ValueError, match="Received: GNMT"):
        call("parameters", "--config=gnmt:multi30k", f"--diagram={picture}")
    assert not picture.exists()
    assert "63,045,632" in call("parameters", "--config=base", f"--diagram={picture}").stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_without_a_config_all_rows_of_table_3_are_counted():
    lines = call("parameters").stdout.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[3:]}
    assert len(rows) == 21 and rows["big_100K"] == rows["big"][:4]
    assert rows["B_dk16"] == ["55.97", "-7.08", "58.07", "-7.08", "58", "-7"]
    assert rows["E_learned"] == ["64.09", "+1.05", "66.19", "+1.05"]
