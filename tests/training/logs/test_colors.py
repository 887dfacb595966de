"""The log is colored on terminals only, unless the environment says otherwise."""

import io

import pytest

from t2t_keras.training.logs.console import Colors


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
def test_stream_and_environment_decide(stream, environment, are_on):
    painted = Colors(stream(), environment).paint("title", "held out")
    assert painted == ("\x1b[1mheld out\x1b[0m" if are_on else "held out")
