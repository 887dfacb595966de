import json

import pytest

from t2t_keras.training.logs.metrics_file import MetricsFile

LINES = [{"step": 10, "loss": 2.5}, {"step": 20, "loss": 0.1 + 0.2, "bleu_signature": "ü"}]


def metrics_file(folder):
    file = MetricsFile(folder / "metrics.jsonl")
    for metrics in LINES:
        file.append(metrics)
    return file


def test_appended_metrics_are_read_and_a_partial_line_is_ignored(tmp_path):
    file = metrics_file(tmp_path)
    assert len(file.path.read_text().splitlines()) == 2
    with file.path.open("a") as stream:
        stream.write('{"step": 5, "lo')
    assert file.read() == LINES
    file.forget_after(10)
    assert file.read() == LINES[:1] and len(file.path.read_text().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_missing_file_has_no_metrics(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.forget_after(10)
    file.sync()
    assert file.read() == [] and not file.path.exists()


def test_a_last_line_with_a_changed_end_is_damaged(tmp_path):
    file = metrics_file(tmp_path)
    file.path.write_bytes(file.path.read_bytes()[:-1] + b"\x8a")
    with pytest.raises(ValueError, match="damaged: line 2"):
        file.read()
    file.path.write_bytes(file.path.read_bytes()[:-1])  # complete but for its line feed
    assert file.read() == LINES


def test_every_line_is_json_and_nan_is_read_as_none(tmp_path):
    file = metrics_file(tmp_path)
    file.append({"step": 30, "loss": float("nan"), "perplexity": float("inf"), "bleu": 1.5})
    expected = [*LINES, {"step": 30, "loss": None, "perplexity": None, "bleu": 1.5}]
    assert file.read() == expected
    file.forget_after(40)
    lines = file.path.read_text().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail) for line in lines] == expected


@pytest.mark.parametrize("line", [b'{"step": 5 "loss": 1}', b'{"loss": 1}', b"[{}"])
def test_a_damaged_line_is_named(tmp_path, line):
    file = metrics_file(tmp_path)
    file.path.write_bytes(line.ljust(30, b"}") + b"\n" + file.path.read_bytes())
    message = r"metrics.jsonl is damaged: line 1 is not a JSON object with a step\. Delete this"
    for call in (file.read, lambda: file.forget_after(100)):
        with pytest.raises(ValueError, match=message):
            call()
