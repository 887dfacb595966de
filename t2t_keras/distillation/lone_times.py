"""Measures the time of a sentence that is translated alone, for several systems in turn.

Each system is a process of its own with a fixed number of cores, so that no system affects the
threads or the memory of another. The systems take turns after every few sentences, so that a
temporary slowdown of the machine affects all of them alike.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

from pipelines.progress import Progress

SENTENCES = 100  # number of sentences of a test set that are timed
TURN = 10  # sentences of a turn; in a longer turn the caches of the processor would count less
WARM_UP = 3  # sentences that are translated before the timed ones


class TimedSystem:
    """A system in a process of its own, which runs this file. It reads and writes JSON lines.

    Args:
        folders, to: the folders to translate with, and the tag or target language, or None.
        cores: number of processor cores to use.
        log: open file for the process' messages.
    """

    def __init__(self, folders, to, cores, log):
        self.name, self.log = " ".join(folders), log.name
        self.process = subprocess.Popen(
            # With -P, files in the user's folder cannot shadow modules.
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "CUDA_VISIBLE_DEVICES": "-1",
            },
            start_new_session=True,  # Ctrl-C reaches only the parent, which ends this process
        )
        self.process.stdin.write(f"{json.dumps([folders, to, cores])}\n")
        self.seconds([], None)  # loading one after the other takes the least memory

    def seconds(self, texts, beam):
        """Returns the seconds that each text takes."""
        with contextlib.suppress(BrokenPipeError):  # the process has ended
            self.process.stdin.write(f"{json.dumps([texts, beam])}\n")
            self.process.stdin.flush()
        if answer := self.process.stdout.readline():
            return json.loads(answer)
        self.close()
        raise ValueError(f"{self.name} cannot be timed: its process has ended. See {self.log}")

    def close(self):
        self.process.kill()
        self.process.communicate()


def serve(translator, requests, answers):
    """Answers each request, a JSON line with texts and a beam width, with the texts' seconds."""
    for line in requests:
        texts, beam = json.loads(line)
        answers.write(f"{json.dumps([seconds(translator, text, beam) for text in texts])}\n")
        answers.flush()


def loaded(folders, to, cores):
    """Returns the `Translator` of an export, or of runs on TensorFlow."""
    if hasattr(os, "sched_setaffinity"):  # engines have as many threads as the process has cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    from t2t_keras.translating.exports import is_export, load_translator

    if is_export(folders[0]):
        return load_translator(folders[0], to)
    from t2t_keras.runs.open_engine import load_translator as load_runs

    return load_runs(*folders, to=to, engine="tensorflow")


def seconds(translator, text, beam):
    start = time.perf_counter()
    translator.translate([text], beam=beam, split="off")
    return time.perf_counter() - start


def lone_times(forms, tests, cores, log):
    """Returns {label of a form: {name of a test set: median milliseconds of a sentence}}.

    `tests` are {name: list of sentences}; each system runs on `cores` processor cores.
    """
    chosen = {name: spread(sentences) for name, sentences in tests.items()}
    total = len(forms) * sum(map(len, chosen.values()))
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(log, "ab"))
        progress = stack.enter_context(Progress("timing single sentences", total, unit="sentences"))
        systems = {}
        for form in forms:
            key = tuple(form.folders)
            if key not in systems:
                systems[key] = TimedSystem(form.folders, form.system.to, cores, file)
                stack.callback(systems[key].close)
        calls = {form.label: (systems[tuple(form.folders)], form.beam) for form in forms}
        for system, beam in calls.values():
            for sentences in chosen.values():
                system.seconds(sentences[:WARM_UP], beam)
        times = {label: {name: [] for name in chosen} for label in calls}
        progress.to(0)
        for name, sentences in chosen.items():
            for first in range(0, len(sentences), TURN):
                turn = sentences[first : first + TURN]
                for label, (system, beam) in calls.items():
                    times[label][name] += system.seconds(turn, beam)
                    progress.to(progress.done + len(turn))
    return {
        label: {name: 1000 * statistics.median(found) for name, found in of_tests.items()}
        for label, of_tests in times.items()
    }


def spread(sentences):
    """Returns at most `SENTENCES` of the sentences that are not empty, evenly spread."""
    sentences = [text for text in sentences if text.strip()]
    count = min(len(sentences), SENTENCES)
    return [sentences[index * len(sentences) // count] for index in range(count)]


if __name__ == "__main__":
    # Libraries may write to standard output, which is only for answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        serve(loaded(*json.loads(sys.stdin.readline())), sys.stdin, answers)
