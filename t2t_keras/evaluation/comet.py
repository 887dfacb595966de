"""COMET (Rei et al. 2020), a trained metric, computed by unbabel-comet in a separate process.

unbabel-comet 2.2 needs NumPy 1 and protobuf 4, this package NumPy 2, TensorFlow 2.21 protobuf 6.
"""

import atexit
import contextlib
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from t2t_keras.evaluation.sacrebleu_metrics import LineMetric, signature_of

INSTALL = (
    ". unbabel-comet needs NumPy 1, so install it in a separate environment (python3 -m venv "
    'comet; comet/bin/pip install unbabel-comet), and add this to the path: PATH="comet/bin:$PATH"'
)
# Answers the path of a model and lists of rows with scores. Libraries print to standard error.
PROGRAM = """
import json, os, sys
answers, _ = os.fdopen(os.dup(1), "w"), os.dup2(2, 1)
import comet, torch
options = {"batch_size": 64, "gpus": int(torch.cuda.is_available()), "progress_bar": False}
model = comet.load_from_checkpoint(json.loads(sys.stdin.readline()))
print("[]", file=answers, flush=True)
for line in sys.stdin:
    scores = map(float, model.predict(json.loads(line), **options).scores)
    print(json.dumps([*scores]), file=answers, flush=True)
"""


class Comet(LineMetric):
    """100 times the mean of COMET over all lines, and over the references of each line."""

    def __init__(self, model):
        super().__init__("COMET", None)
        if not model:
            raise ValueError("COMET needs the checkpoint of its model: --comet_model=model.ckpt")
        self.model, self.scores_of = model, process_of(model)

    def get_signature(self):
        signature = signature_of(self)
        signature.update("model", self.model)
        return signature

    def _extract_corpus_statistics(self, hypotheses, references):
        self.num_refs, lines, sources = len(references), len(hypotheses), self.columns["source"]
        rows = [
            {"src": source, "mt": text, "ref": reference}
            for each in references
            for source, text, reference in zip(sources, hypotheses, each, strict=True)
        ]
        scores = self.scores_of(rows)
        return [[100 * sum(scores[line::lines]) / self.num_refs, 1.0] for line in range(lines)]


@functools.lru_cache(1)
def process_of(model):
    """Starts a process that loads a model; returns a function of rows that returns their scores."""
    python = str(Path(shutil.which("comet-score") or sys.executable).with_name("python"))
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
    process = subprocess.Popen([python, "-c", PROGRAM], text=True, **pipes)

    def close():
        process.kill()
        process.communicate()
        errors.close()

    def scores_of(rows):
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(rows), file=process.stdin, flush=True)
        if line := process.stdout.readline():
            return json.loads(line)
        process.wait()
        errors.seek(0)
        *_, reason = ["no message", *filter(None, errors.read().split("\n"))]
        close()
        raise ValueError(f"COMET failed in {python}: {reason}{INSTALL * ('No module' in reason)}")

    atexit.register(close)
    scores_of(model)  # fails early
    return scores_of
