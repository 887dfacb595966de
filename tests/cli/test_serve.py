"""t2t-serve names what is wrong with its arguments; tests/serving tests what a server does."""

import socket

import pytest
from support.processes.commands import command
from support.processes.in_process import refused


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "export.json").write_text("{}")
    (tmp_path / "k").write_text("key\n")


MISTAKES = {
    "": "takes the folders of runs, RUN or NAME=RUN. Received: none",
    ".": "t2t-export . writes one",
    "{0} --name=a/b": "the name of a model must not contain /, :",
    "{0} --max_batch_rows=0": "--max_batch_rows=0: 0 is not a positive integer",
    "{0} --port={1}": "Address already in use. --port=0 chooses a free port",
    "a={0} a={0}": "each model must have its own name. Received: 'a' 2 times",
    "{0} b={0} --name=c": "--name=c names a single model without a name",
    "b={0} --name=c": "--name=c names a single model without a name",
    "a={0} --trust": "--trust has no effect with an export",
    "={0}": "NAME=RUN must have a name and a folder",
    "a=nowhere": "there is no folder nowhere",
    "{0} --api_key_file=nowhere": "nowhere: No such file",
    "{0} --api_key_file=": "--api_key_file: give the name of a file",
    "{0} --access_log=no/log": "no/log: No such file",
    "{0} --access_log=k --api_key_file=k": "are the same file, k",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(exported, line, message):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert message in refused("serve", line, exported("litert").parent, taken.getsockname()[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["broken"], "broken/1 cannot be served"),
        (["EXPORT", "--allowed_origins=a.com"], "--allowed_origins must be *"),
    ],
)
def test_a_server_that_cannot_start_is_refused(exported, arguments, message):
    export = str(exported("litert").parent)
    arguments = [each.replace("EXPORT", export) for each in arguments]
    result = command("serve", *arguments, "--port=0")
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
