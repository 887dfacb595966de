"""t2t-serve names what is wrong with its arguments; tests/serving tests what a server does."""

import socket

import pytest
from support.processes.commands import command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes the folders of runs, RUN or NAME=RUN. Received: none"),
        (["no-such-run"], "there is no folder no-such-run"),
        (["."], "t2t-export . writes one"),
        (["EXPORT", "--name=a/b"], "the name of a model must not contain /, :"),
        (["EXPORT", "--weights=best"], "Unknown command line flag 'weights'"),
        (["EXPORT", "--to=de"], "Unknown command line flag 'to'"),
        (["EXPORT", "--max_batch_rows=0"], "`max_batch_rows` must be a whole number of at least 1"),
        (["EXPORT", "--port=TAKEN"], "Address already in use. --port=0 chooses a free port"),
        (["BROKEN", "--port=0"], "broken/1 cannot be served"),
        (["a=EXPORT", "a=EXPORT"], "each model must have its own name. Received: 'a' 2 times"),
        (["EXPORT", "b=EXPORT", "--name=c"], "--name=c names a single model without a name"),
        (["a=EXPORT", "--trust"], "--trust has no effect with an export"),
        (["=EXPORT"], "NAME=RUN must have a name and a folder"),
        (["a=nowhere"], "there is no folder nowhere"),
        (["EXPORT", "--api_key_file=nowhere"], "nowhere: No such file"),
        (["EXPORT", "--api_key_file=."], "--api_key_file=. must be a regular file"),
        (["EXPORT", "--access_log=no/log"], "no/log: No such file"),
        (["EXPORT", "--access_log=k", "--api_key_file=k"], "are the same file, k"),
        (["EXPORT", "--allowed_origins=a.com", "--port=0"], "--allowed_origins must be *"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(
    arguments, message, backwards_export, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "k").write_text("key\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        values = {"EXPORT": str(backwards_export), "BROKEN": "broken", "TAKEN": port}
        for name, value in values.items():
            arguments = [each.replace(name, value) for each in arguments]
        result = command("serve", *arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
