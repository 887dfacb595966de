"""The log is colored on terminals only, unless the environment says otherwise."""

import io

import pytest

from t2t_keras.training.logs.console import has_colors


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "are_on"),
    [
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"TERM": "dumb"}, False),
        (Terminal, {"NO_COLOR": "1"}, False),
        (Terminal, {"NO_COLOR": ""}, True),
        (io.StringIO, {"TERM": "xterm"}, False),
        (io.StringIO, {"FORCE_COLOR": "1"}, True),
        (io.StringIO, {"FORCE_COLOR": "0"}, False),
        (Terminal, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (io.StringIO, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_stream_and_environment_decide(monkeypatch, stream, environment, are_on):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert has_colors(stream()) == are_on
