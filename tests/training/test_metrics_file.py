from t2t_keras.training.metrics_file import MetricsFile

LINES = [{"step": 10, "loss": 2.5}, {"step": 20, "loss": 0.1 + 0.2, "bleu_signature": "ü"}]


def metrics_file(folder):
    file = MetricsFile(folder / "metrics.jsonl")
    for metrics in LINES:
        file.append(metrics)
    return file


def test_appended_metrics_are_read(tmp_path):
    assert metrics_file(tmp_path).read() == LINES
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_a_missing_file_has_no_metrics(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.forget_after(10)
    assert file.read() == [] and not file.path.exists()


def test_a_partial_line_is_ignored(tmp_path):
    file = metrics_file(tmp_path)
    with file.path.open("a") as stream:
        stream.write('{"step": 30, "lo')
    assert file.read() == LINES


def test_later_and_partial_lines_are_forgotten(tmp_path):
    file = metrics_file(tmp_path)
    with file.path.open("a") as stream:
        stream.write('{"step": 5, "lo')
    file.forget_after(10)
    assert file.path.read_text() == '{"step": 10, "loss": 2.5}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]
