import io
import itertools

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
    lines = displayed(io.StringIO(), monkeypatch, 20).splitlines()
    assert len(lines) == len(set(lines)), "the same line is not repeated at the end"


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


def test_a_line_is_not_wider_than_the_terminal_and_leaves_nothing_behind(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    with Progress("translating", 1_000_000, "lines", stream=stream) as counter:
        counter.to(0)
        assert stream.getvalue() == "\rtranslating: 0 of 1,000,000 l"
        counter.clear()
        assert stream.getvalue().endswith("\r" + " " * 29 + "\r")
        length = len(stream.getvalue())
        counter.clear()
        assert len(stream.getvalue()) == length, "there is nothing to remove"


def test_lines_in_a_file_become_rarer(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with Progress("translating", 36_000, "lines", stream=stream) as counter:
        counter.to(0)
        for now[0] in range(1, 36_001):  # ten hours, a line every second
            counter.to(now[0])
    seconds = [int(line.split()[1].replace(",", "")) for line in stream.getvalue().splitlines()]
    pauses = [later - earlier for earlier, later in itertools.pairwise(seconds)]
    assert seconds[0] == 10 and pauses[:5] == [10] * 5 and max(pauses) == 300
    assert 150 < len(seconds) < 200 and seconds[-1] == 36_000


def test_slow_work_has_a_rate_and_a_count_beyond_the_total_has_no_percent(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    counter = Progress("translating", 8, "lines", stream=io.StringIO())
    counter.to(0)
    now[0], counter.done = 10.0, 3
    assert counter.line(10) == "translating: 3 of 8 lines (37%), 0.3/s, 0:00:10, 0:00:17 left"
    counter.done = 9  # the input has grown
    assert counter.line(10) == "translating: 9 lines, 0.9/s, 0:00:10"
    for done, total, shown in (
        *((1, 1, "translating: 1 of 1 line (100%)"), (1, 2, "translating: 1 of 2 lines (50%)")),
        *((1, None, "translating: 1 line"), (0, None, "translating: 0 lines")),
    ):
        counter.done, counter.total = done, total
        assert counter.line(10).split(",")[0] == shown
