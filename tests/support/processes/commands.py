"""Runs the package's commands, each in a process that starts at once.

Importing TensorFlow takes seconds. The process of the tests, which has imported it, forks a server
before it uses TensorFlow, and every command is a fork of that server with its own arguments, flags,
streams and exit code, as if a shell had started it.
"""

import contextlib
import importlib
import itertools
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[3]
HELPERS = "support.processes."  # package of the modules beside this one
SERVER = None
# Flags for data of 1,200 sentences, and for a run that takes seconds.
SMALL_CORPUS = ["--config.data.vocabulary.size=400", "--config.data.batches.tokens=4000"]
TINY_RUN = [
    *(f"--config.model.{field}" for field in ("num_layers=1", "d_model=16", "d_ff=16")),
    *("--config.data.toy_pairs=300", "--config.data.vocabulary.size=400"),
    *("--config.data.dev_pairs=20", "--config.search.beam=2", "--config.search.extra_length=0"),
    *("--config.training.log_every=2", "--config.training.evaluate_every=4"),
    "--config.training.checkpoint_every=2",
]
# Unusual lines that a user may translate.
UGLY = ["The dog sleeps.", "", "   ", "\u00e9\U0001f600\u4e2d", "a\0b", "dog " * 300, "A cat."]


def command(
    name,
    *arguments,
    stdin="",
    interrupt_after=None,
    read=True,
    at_stage=None,
    file_size=None,
    environment=None,
):
    """Runs `t2t-NAME`.

    Args:
        stdin: text. None: an open pipe without a writer.
        interrupt_after: seconds until Ctrl-C. None: no Ctrl-C.
        read: False closes standard output's reader, as `head` does.
        at_stage: for t2t-reproduce and t2t-distill, whose stages are then forks, too: index of
            the stage during which Ctrl-C is pressed, in a training after its first checkpoint.
            -1: never.
        file_size: maximum bytes of a file; a write beyond it fails as on a full disk.
        environment: changes to the environment variables.

    Returns:
        A `subprocess.CompletedProcess` with text.
    """
    changes = {"read": read, "at_stage": at_stage, "file_size": file_size}
    changes |= {"interrupt_after": interrupt_after, "wait_for_input": stdin is None}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "stdin").write_text(stdin or "", encoding="utf-8")
        return completed(request_of(name, arguments, folder, environment) | changes)


def script(path, cwd):
    """Runs a Python file in the folder `cwd`; returns a `subprocess.CompletedProcess` with text."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "stdin").touch()
        return completed(request_of("", [], folder) | {"module": str(path), "cwd": str(cwd)})


def completed(request):
    """Sends a request and returns the `subprocess.CompletedProcess`."""
    code, folder = answer_to(request), Path(request["folder"])
    streams = [(folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(request["argv"], code, *streams)


class Running:
    """A command that runs beside the test until it is stopped."""

    def __init__(self, request):
        self.pid = answer_to(request | {"background": True})
        self.folder, self.code = Path(request["folder"]), None

    def line(self, seconds=60):
        """Waits for the first line of output and returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = (self.folder / "stdout").read_text(encoding="utf-8")
            if "\n" in text:
                return text.partition("\n")[0]
            time.sleep(0.05)
        raise TimeoutError((self.folder / "stderr").read_text(encoding="utf-8"))

    def errors(self):
        return (self.folder / "stderr").read_text(encoding="utf-8")

    def stop(self, number=signal.SIGTERM):
        """Sends a signal, unless the command has ended, and returns the exit code."""
        if self.code is None:
            os.kill(self.pid, number)
        return self.wait()

    def wait(self):
        """Waits for the end and returns the exit code."""
        if self.code is None:
            self.code = answer_to({"wait_for": self.pid})
        return self.code


@contextlib.contextmanager
def running(name, *arguments, package="t2t_keras.cli.", environment=None):
    """Starts `t2t-NAME`, or a module of a different package, and yields a `Running`."""
    with tempfile.TemporaryDirectory() as folder:
        for stream in ("stdin", "stdout"):
            (Path(folder) / stream).touch()
        request = request_of(name, arguments, folder, environment)
        process = Running(request | {"module": f"{package}{name}"})
        try:
            yield process
        finally:
            process.stop(signal.SIGKILL)


def request_of(name, arguments, folder, environment=None):
    return {
        "argv": [f"{name}.py", *map(str, arguments)],
        "module": f"t2t_keras.cli.{name}",
        "folder": folder,
        "cwd": os.getcwd(),
        "environment": environment or {},
        "read": True,
    }


def answer_to(request):
    """Sends a request to the parent process and returns the integer that it answers."""
    server().write(json.dumps(request) + "\n")
    server().flush()
    return int(server().readline())


def server():
    """Returns the socket file of the process that forks commands."""
    if SERVER is None:  # on JAX, where few tests need one
        fork_server()
    return SERVER


def fork_server():
    """Forks the process that forks commands from this one, which has loaded the backend."""
    global SERVER
    ours, theirs = socket.socketpair()
    if not os.fork():
        try:
            serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    SERVER = ours.makefile("rw")


def serve(connection):
    """Forks a command for each request, until the process of the tests ends."""
    # Nothing of the tests' process stays open here: its end must be noticed.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    connection = socket.socket(fileno=os.dup2(connection.detach(), 3))
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    warnings.resetwarnings()  # to pytest, they are errors
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    requests = connection.makefile("rw")
    os.chdir(ROOT)
    for line in requests:
        for module in ("tensorflow_text", "t2t_keras.runs.run", "t2t_keras.runs.training.train"):
            importlib.import_module(module)
        request = json.loads(line)
        child = request.get("wait_for") or os.fork()
        if not child:
            run(request)
        if request.get("background"):
            answer = child
        else:
            if (seconds := request.get("interrupt_after")) is not None:
                with contextlib.suppress(ChildProcessError):
                    signal.sigtimedwait([signal.SIGCHLD], seconds)
                    os.kill(child, signal.SIGINT)
            answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        requests.write(f"{answer}\n")
        requests.flush()


def run(request):
    """Redirects the streams of a fork and becomes the command. Never returns."""
    folder = Path(request["folder"])
    streams = [os.open(folder / "stdin", os.O_RDONLY)]
    if request.get("wait_for_input"):
        streams = [os.pipe()[0]]
    for name in ("stdout", "stderr"):
        streams.append(os.open(folder / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC))
    if not request["read"]:
        reader, streams[1] = os.pipe()
        os.close(reader)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(request["cwd"])
    os.environ.update(request["environment"])
    if file_size := request.get("file_size"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sys.dont_write_bytecode = True  # a truncated file of bytecode would remain
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    # Python's own streams do not close their descriptors, either, when they are replaced.
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(n, "w" if n else "r", closefd=False) for n in range(3)
    )
    if request.get("at_stage") is not None:
        start_stages_from(stage_server(), request["at_stage"])
    become(request["argv"], request["module"])


def become(argv, module):
    """Runs a module, or a file, as a command and exits with its code. Never returns."""
    sys.argv = argv
    code = 0
    try:
        if module.endswith(".py"):
            runpy.run_path(module, run_name="__main__")
        elif module.startswith("t2t_keras.cli."):
            from t2t_keras.cli.main import entry

            entry()
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def stage_server():
    """Starts a process that forks stages from the modules loaded now; returns a socket to it."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    ours.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for line in theirs.makefile():
        argv, module, log = json.loads(line)
        child = os.fork()
        if not child:
            theirs.close()
            output = os.open(log, os.O_WRONLY | os.O_APPEND)
            for stream in (1, 2):
                os.dup2(output, stream)
            become(argv, module)
        theirs.sendall(f"{child}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(BrokenPipeError):
            theirs.sendall(f"{code}\n".encode())
    os._exit(0)


def start_stages_from(server, at_stage):
    """Makes the command in this process start its stages as forks of the server."""
    from t2t_keras.stages import stages

    indices = itertools.count()
    answers = server.makefile()

    class Stage:
        """The process of a stage, with the interface of `subprocess.Popen` that `Stages` uses."""

        def __init__(self, name, arguments, log):
            self.is_interrupted = next(indices) == at_stage
            self.runs = [Path(a.removeprefix("--run=")) for a in arguments if a[:6] == "--run="]
            request = [f"{name}.py", *arguments], f"t2t_keras.cli.{name}", log.name
            server.sendall(f"{json.dumps(request)}\n".encode())
            self.pid = int(answers.readline())

        def wait(self, timeout=None):
            if self.is_interrupted:
                while self.runs and not list(self.runs[0].glob("checkpoints/*.npz")):
                    time.sleep(0.01)
                self.is_interrupted = False
                os.kill(os.getpid(), signal.SIGINT)
            return int(answers.readline())

        def terminate(self):
            os.kill(self.pid, signal.SIGTERM)

    stages.start_command = Stage
