"""Runs commands of this package as the stages of an experiment, each stage once.

Each command is a separate process, because TensorFlow holds a device's memory and its first
strategy until the process ends. Its output goes to a log file. A stage may also be a function of
the experiment itself, which runs in this process.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from pipelines.atomic_files import read_json, write_json
from pipelines.progress import duration
from pipelines.text.sources import digest_of

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SILENT = "no message"  # stands for the last message of a command that has written none
REPORT_SECONDS = 60  # interval between progress reports of a running stage
# Matches log lines of libraries. Unlike theirs, the times of t2t-train are in whole seconds.
NOISE = re.compile(r"(WARNING|[IWE]0000 |\d{4}-\d\d-\d\d [\d:]+\.\d+: |\s|$)")
# Matches the prefix of this package's log lines.
LOG_PREFIX = re.compile(r"[IWE]\d{4} [^\]]*\] ")


class StageFailed(ValueError):
    """A command of a stage has failed with an exit code, which is 2 if it has refused its input."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Stages:
    """Runs the stages of one experiment.

    Args:
        folder: folder for the logs and for `stages.json`, the record of stages.
        name: the experiment's name in messages.
        earlier: `Stages` whose results this experiment uses.
    """

    def __init__(self, folder, name, earlier=None):
        self.folder, self.name = Path(folder), name
        self.history = list(earlier.history) if earlier else []

    def run_once(
        self,
        stage,
        command,
        arguments,
        creates,
        reads=(),
        depends_on=None,
        unrecorded=(),
        replaces=None,
    ):
        """Runs `t2t-COMMAND` unless an identical stage has finished.

        Stages are identical if they have the same arguments, input files with the same contents,
        the same `depends_on`, and identical earlier stages.

        Args:
            stage: name of the stage and of its log.
            creates: file that the stage creates.
            reads: input files, except the files that earlier stages wrote.
            depends_on: anything else that affects the result, that JSON can hold.
            unrecorded: further arguments, which do not affect the result, such as the paths of
                files whose contents `depends_on` has.
            replaces: output folder that the command refuses to change for other inputs. It is
                deleted before the stage is started with other inputs than the last time.
        """
        arguments = [str(argument) for argument in arguments]
        every = [*arguments, *map(str, unrecorded)]
        run = functools.partial(self.run_logged, stage, command, every, creates)
        self.once(stage, [command, arguments], creates, reads, depends_on, run, replaces)

    def call_once(self, stage, function, creates, reads=(), depends_on=None):
        """Calls a function in this process unless it has finished before; see `run_once`.

        The function writes its files completely or not at all.
        """

        def call():
            self.report(stage)
            function()

        self.once(stage, ["", []], creates, reads, depends_on, call)

    def once(self, stage, words, creates, reads, depends_on, work, replaces=None):
        """Calls `work` unless the stage has finished, and records that it has; see `run_once`.

        `words` are the command's name and its arguments.
        """
        digest = digest_of(map(Path, reads)) if reads else ""
        # As the record has it, with lists in place of tuples.
        self.history.append(json.loads(json.dumps([*words, digest, depends_on])))
        record = self.folder / "stages.json"
        known = read_json(record, {})  # {stage: [history, whether it has finished]}
        begun, finished = known.get(stage, (None, False))
        if begun == self.history and finished and Path(creates).exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if replaces is not None and begun != self.history:
            if begun is None and Path(replaces).is_dir() and any(Path(replaces).iterdir()):
                raise ValueError(
                    f"{self.name}: {stage} writes a new {replaces}, which has files already. Move "
                    "them away, and run the same command again"
                )
            shutil.rmtree(replaces, ignore_errors=True)
        write_json(record, known | {stage: [self.history, False]})
        started = time.monotonic()
        work()
        write_json(record, known | {stage: [self.history, True]})
        self.report(f"{stage} took {duration(time.monotonic() - started)}")

    def run_logged(self, stage, command, arguments, creates):
        """Runs the command, reports its newest log message once a minute, and checks its file."""
        log, reported = self.folder / "logs" / f"{stage}.log", None
        log.parent.mkdir(parents=True, exist_ok=True)
        self.report(f"{stage}, see {log}")
        with open(log, "ab") as file:
            file.write(f"{time.ctime()}: t2t-{command} {' '.join(arguments)}\n".encode())
            file.flush()
            begin = file.tell()
            with running(start_command, command, arguments, file) as child:
                while (code := exit_code(child)) is None:
                    message = last_message(log, begin)
                    if message not in (reported, SILENT):
                        reported = message
                        self.report(f"{stage}: {message}")
        message = last_message(log, begin)
        if code:
            raise StageFailed(
                f"{self.name}: {stage} failed (exit code {code}): {message}. The full log is "
                f"{log}. Fix the cause and run the same command to resume",
                code,
            )
        if not Path(creates).exists():
            raise ValueError(
                f"{self.name}: {stage} ended without writing {creates}: {message}. The full log is "
                f"{log}"
            )

    def report(self, message):
        print(f"{self.name}: {message}", file=sys.stderr, flush=True)


def start_command(command, arguments, log):
    """Starts `t2t-COMMAND` from the package that this process uses."""
    return subprocess.Popen(
        # With -P, files in the user's folder cannot shadow modules.
        [sys.executable, "-P", "-m", "t2t_keras.cli", command, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "T2T_STAGE_PARENT": str(os.getpid()),
        },
        start_new_session=True,  # Ctrl-C reaches only this process, which forwards it
    )


def exit_code(child):
    """Waits up to a minute for a child to end; returns its exit code, or None if it still runs."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(REPORT_SECONDS)


@contextlib.contextmanager
def running(start, *arguments):
    """Yields the child process that `start(*arguments)` returns.

    SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt in the block. After any error in the block,
    the child gets SIGTERM, so that it can save its work, and the block waits until it has ended.
    Only the main thread of a process can receive signals.
    """

    children, early = [], []

    def interrupt(*_):
        if children:
            raise KeyboardInterrupt
        early.append(True)  # a child that is only half started could not be ended

    in_main = threading.current_thread() is threading.main_thread()
    previous = {each: signal.signal(each, interrupt) for each in SIGNALS if in_main}
    try:
        child = start(*arguments)
        children.append(child)
        try:
            if early:
                raise KeyboardInterrupt
            yield child
        except BaseException:
            child.terminate()
            child.wait()
            raise
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def last_message(log, begin=0):
    """Returns a log's last message from the command itself, ignoring lines of libraries.

    The command's output begins at the byte `begin`.
    """
    with open(log, "rb") as file:
        file.seek(begin)
        lines = file.read().decode("utf-8", "replace").split("\n")
    messages = [line for line in lines if not NOISE.match(line)]
    return LOG_PREFIX.sub("", messages[-1]) if messages else SILENT
