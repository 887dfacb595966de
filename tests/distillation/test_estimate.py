"""The estimate is measured on a sample, translated with the same flags."""

import subprocess
from pathlib import Path

from t2t_keras.distillation.estimate import estimate
from t2t_keras.stages.stages import Stages


def test_the_estimate_is_the_time_of_all_lines_at_the_speed_of_the_sample(tmp_path, capsys):
    text, samples = tmp_path / "text", []
    text.write_text("".join(f"{number}\n" for number in range(6400)))

    def start(command, arguments, log):
        samples.append((command, arguments))
        files = dict(each.lstrip("-").split("=") for each in arguments if "=" in each)
        samples.append(Path(files["input"]).read_text().split())
        log.write(b"translating: 64 of 64 lines (100%), 3.2/s, 0:00:20\n")
        return subprocess.Popen(["cp", files["input"], files["output"]])

    def estimated(output, lines=6400):
        stages = Stages(tmp_path, "distillation", start=start)
        estimate(stages, [("real", text, lines, output, ["teacher", "--beam=8"])])
        return capsys.readouterr().err

    output = tmp_path / "output"
    message = estimated(output)
    assert "translating 6,400 sentences (real) will take about 0:33:20, at 3.2 sentences" in message
    assert samples[0][0] == "translate" and samples[0][1][:2] == ["teacher", "--beam=8"]
    assert samples[1] == [str(number) for number in range(0, 6400, 100)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "text"]
    assert not estimated(output, lines=500), "few lines take less time than an estimate"
    (tmp_path / "output.unfinished").touch()
    assert not estimated(output), "a resumed translation reports its own estimate"
    assert len(samples) == 2
