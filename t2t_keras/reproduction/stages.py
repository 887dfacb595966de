"""The stages of an experiment: commands of this package, one after another, each done once.

Each runs in a process of its own: TensorFlow keeps a device's memory, and the strategy that it
began with, as long as a process lives. What a stage says goes into its log.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import tensorflow as tf

from pipelines.progress import duration
from pipelines.sources import digest_of
from pipelines.whole import only_one, read_json, write_json
from t2t_keras.reproduction.output_flag import OUTPUT

EVERY = 60  # seconds between two looks at what a stage says
# What libraries say of themselves, and what stands before a message of our own.
NOISE = re.compile(r"(WARNING|[IWE]0000 |\d{4}-\d\d-\d\d |\s|$)")
HEAD = re.compile(r"[IWE]\d{4} [^\]]*\] ")


class Stages:
    """Runs the stages of one experiment.

    Args:
        folder: where the logs go, and `stages.json`, the notes of what is done.
        name: of the experiment, for its messages.
        before: the `Stages` whose results these ones use.
    """

    def __init__(self, folder, name, before=None):
        self.folder, self.name = Path(folder), name
        self.history = list(before.history) if before else []

    def do(self, stage, command, arguments, creates, reads=(), decides=None):
        """Runs `t2t-COMMAND`, unless it has been done with all that it depends on.

        That is: the same arguments, the same contents of the files, and the same of all stages
        before it.

        Args:
            stage: its name, and that of its log.
            arguments: of the command.
            creates: what is there when it has been done.
            reads: files that it reads, and nobody of the stages before it has made.
            decides: what else its result depends on, of lists, texts and numbers.
        """
        arguments = [str(argument) for argument in arguments]
        digest = digest_of(map(Path, reads)) if reads else ""
        self.history.append([command, arguments, digest, decides])
        notes = self.folder / "stages.json"
        done = read_json(notes, {})
        if done.get(stage) == self.history and Path(creates).exists():
            return
        log = self.folder / "logs" / f"{stage}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self.say(f"{stage}, see {log}")
        started = time.monotonic()
        self.watch(stage, command, arguments, log)
        if not Path(creates).exists():
            raise ValueError(
                f"{self.name}: {stage} ended without {creates}: {last_line(log)}. All that it "
                f"said is in {log}"
            )
        write_json(notes, done | {stage: self.history})
        self.say(f"{stage} took {duration(time.monotonic() - started)}")

    def watch(self, stage, command, arguments, log):
        """Runs the command to its end, and says now and then what it said last."""
        children, said = [], None
        with passed_on(children) as asked:
            with open(log, "ab") as file:
                file.write(f"{time.ctime()}: t2t-{command} {' '.join(arguments)}\n".encode())
                file.flush()
                children.append(start(command, arguments, file))
            if asked:  # while it was started, when there was nobody to pass it on to
                send(asked[0], children[0])
            while (code := ended(children[0])) is None:
                if (line := last_line(log)) != said:
                    said = line
                    self.say(f"{stage}: {line}")
        if asked:
            print(
                f"\n{Path(sys.argv[0]).name}: interrupted. The same command goes on from here",
                file=sys.stderr,
            )
            sys.exit(130)
        if code:
            raise ValueError(
                f"{self.name}: {stage} failed (exit code {code}): {last_line(log)}. All that it "
                f"said is in {log}. Once that is mended, the same command goes on from here"
            )

    def say(self, message):
        print(f"{self.name}: {message}", file=sys.stderr, flush=True)


def start(command, arguments, log):
    """A process that runs `t2t-COMMAND` from the package that this one runs."""
    return subprocess.Popen(
        # -P: not from a folder of the user's that has a module of the same name.
        [sys.executable, "-P", "-m", f"t2t_keras.cli.{command}", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C comes to this process alone, which passes it on
    )


def ended(child):
    """Waits for a while for the exit code; None: not yet."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(EVERY)


@contextlib.contextmanager
def passed_on(children):
    """Passes the wish to stop on to children, which may have something to save first.

    Gives a list that holds the signals that came.
    """
    asked = []

    def stop(number, _):
        asked.append(number)
        for child in children:
            send(number, child)

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def send(number, child):
    """Asks a child to stop, which for it is Ctrl-C or SIGTERM; it may have ended meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)


def last_line(log):
    """The last thing that a command said."""
    lines = Path(log).read_text(encoding="utf-8", errors="replace").split("\n")
    told = [line for line in lines if not NOISE.match(line)]
    return HEAD.sub("", told[-1])


@contextlib.contextmanager
def output_folder(table):
    """The folder of the flags, which no other process works in meanwhile."""
    # The memory of a GPU is for the stages' processes.
    tf.config.set_visible_devices([], "GPU")
    folder = Path(OUTPUT.value or f"reproduced/{table}")
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        yield folder
