"""Measures the time of a sentence that is translated alone, for several systems in turn.

Each system is a separate process with a fixed number of cores, so that no system affects the
threads or the memory of another. The systems take turns after every few sentences, so that a
temporary slowdown of the machine affects all of them alike.
"""

import contextlib
import multiprocessing
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from pipelines.progress import Progress

SENTENCES = 100  # number of sentences of a test set that are timed
TURN = 10  # sentences of a turn; in a longer turn the caches of the processor would count less
WARM_UP = 3  # sentences that are translated before the timed ones
TRANSLATOR = None  # in the process of a system


class TimedSystem(ProcessPoolExecutor):
    """A process that translates; for the arguments, see `load`."""

    def __init__(self, folders, to, cores, log):
        self.name, self.log = " ".join(folders), log
        super().__init__(1, multiprocessing.get_context("spawn"), load, (folders, to, cores, log))
        self.seconds([], None)  # loading one after the other takes the least memory

    def seconds(self, texts, beam):
        try:
            return self.submit(seconds, texts, beam).result()
        except BrokenProcessPool as error:
            end = f"{self.name} cannot be timed: its process has ended. See {self.log}"
            raise ValueError(end) from error


def load(folders, to, cores, log):
    """Loads the `Translator` of an export, or of runs on TensorFlow, in the process of a system.

    Args:
        folders, to: the folders to translate with, and the tag or target language, or None.
        cores: number of processor cores to use.
        log: path of the file for the process' messages.
    """
    global TRANSLATOR
    os.setsid()  # Ctrl-C reaches only the parent, which ends this process
    with open(log, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    if hasattr(os, "sched_setaffinity"):  # engines have as many threads as the process has cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    from t2t_keras.runs.open_engine import load_translator
    from t2t_keras.translating.exports import is_export

    engine = "auto" if is_export(folders[0]) else "tensorflow"
    TRANSLATOR = load_translator(*folders, to=to, engine=engine)


def seconds(texts, beam):
    """Returns the seconds that each text takes, in the process of a system."""
    found = []
    for text in texts:
        start = time.perf_counter()
        TRANSLATOR.translate([text], beam=beam, split="off")
        found.append(time.perf_counter() - start)
    return found


def lone_times(forms, tests, cores, log):
    """Returns {label of a form: {name of a test set: median milliseconds of a sentence}}.

    `tests` are {name: list of sentences}; each system runs on `cores` processor cores.
    """
    chosen = {name: spread(sentences) for name, sentences in tests.items()}
    total = len(forms) * sum(map(len, chosen.values()))
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("timing single sentences", total, unit="sentences"))
        systems = {}
        for form in forms:
            key = tuple(form.folders)
            if key not in systems:
                system = TimedSystem(form.folders, form.system.to, cores, log)
                systems[key] = stack.enter_context(system)
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
