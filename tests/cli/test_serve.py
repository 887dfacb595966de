"""t2t-serve names what is wrong with its arguments; tests/serving tests what a server does."""

import socket

import pytest
from support.processes.commands import command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one run's folder. Received: none"),
        (["no-such-run"], "there is no folder no-such-run"),
        (["."], "t2t-export . writes one"),
        (["EXPORT", "--name=a/b"], "--name must not contain / or :"),
        (["EXPORT", "--weights=best"], "Unknown command line flag 'weights'"),
        (["EXPORT", "--to=de"], "Unknown command line flag 'to'"),
        (["EXPORT", "--max_batch_rows=0"], "`max_batch_rows` must be a whole number of at least 1"),
        (["EXPORT", "--port=TAKEN"], "Address already in use. --port=0 chooses a free port"),
        (["BROKEN", "--port=0"], "broken/1 cannot be served"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(
    arguments, message, backwards_export, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken" / "1").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        values = {
            "EXPORT": str(backwards_export),
            "BROKEN": "broken",
            "--port=TAKEN": f"--port={port}",
        }
        result = command("serve", *(values.get(each, each) for each in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
