import io

from pipelines import progress
from pipelines.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def displayed(stream, monkeypatch, seconds, **settings):
    """Counts to 400 in four steps of some seconds each and returns the output."""
    clock = iter(range(0, 1000, seconds))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with Progress("reading", 400, "pairs", stream=stream, **settings) as counter:
        for done in (100, 200, 300, 400):
            counter.to(done)
    return stream.getvalue()


def test_a_file_gets_occasional_plain_lines(monkeypatch):
    lines = displayed(io.StringIO(), monkeypatch, 4, every=10).splitlines()
    assert 2 <= len(lines) <= 4
    assert lines[0].startswith("reading: ") and "of 400 pairs" in lines[0] and "left" in lines[0]
    assert "reading: 400 of 400 pairs (100%)" in lines[-1] and "left" not in lines[-1]


def test_a_terminal_gets_one_line_that_is_updated(monkeypatch):
    text = displayed(Terminal(), monkeypatch, 1)
    assert text.count("\n") == 1 and text.endswith("\n")
    assert text.count("\r") >= 4


def test_earlier_work_does_not_affect_the_rate(monkeypatch):
    clock = iter([0, 0, 10, 10, 10, 10])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    with Progress("encoding", 1000, "pairs", stream=stream) as counter:
        counter.begin_at(900)
        counter.to(1000)
    assert "1,000 of 1,000 pairs (100%), 10/s" in stream.getvalue()
