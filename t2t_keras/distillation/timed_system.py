"""A process that translates sentences one by one and measures the time of each.

`lone_times.py` starts it. Requests and answers are lines of JSON. The first request has the
folders to load, the tag and the number of processor cores to use; each further request has a list
of sentences and a beam width, and is answered with the seconds that each sentence took. The
process ends with its standard input.
"""

import json
import os
import sys
import time


def serve(requests, answers):
    """Answers each line of `requests` with a line in `answers`."""
    translator = None
    for line in requests:
        try:
            request = json.loads(line)
            if translator is None:
                use_cores(request["cores"])
                translator = loaded(request)
                answer = "loaded"
            else:
                answer = [seconds(translator, text, request["beam"]) for text in request["texts"]]
        except Exception as error:
            answer = {"error": " ".join(f"{error}".split()) or type(error).__name__}
        answers.write(f"{json.dumps(answer)}\n")
        answers.flush()


def use_cores(count):
    """Restricts this process, before it loads an engine, to some of its processor cores.

    All engines have as many threads as the process has cores.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def loaded(request):
    """Returns the `Translator` of a request; loads TensorFlow only if it is needed."""
    from t2t_keras.translating.exports import is_export, load_translator

    folders, to = request["folders"], request["to"]
    if is_export(folders[0]):
        return load_translator(folders[0], to)
    from t2t_keras.runs.open_engine import load_translator as load_runs

    return load_runs(*folders, to=to, engine="tensorflow")


def seconds(translator, text, beam):
    start = time.perf_counter()
    translator.translate([text], beam=beam, split="off")
    return time.perf_counter() - start


if __name__ == "__main__":
    # Libraries may write to standard output, which is only for answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        serve(sys.stdin, answers)
