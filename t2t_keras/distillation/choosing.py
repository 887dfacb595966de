"""Chooses, of a teacher's hypotheses, the one that is closest to the reference.

This is the interpolation of Kim and Rush (2016, https://arxiv.org/abs/1606.07947, Section 3.3): the
student learns a translation that the teacher finds likely and that is also close to the data.
Closeness is BLEU of the sentence, on tokens of sacreBLEU's 13a, with exponential smoothing.
"""

import itertools
from pathlib import Path

import numpy as np

from pipelines.atomic_files import atomic_file
from pipelines.progress import Progress
from t2t_keras.evaluation.bleu import sentence_bleu

BLOCK = 2000  # references that are compared together


def choose(hypotheses, references, count, output):
    """Writes the chosen hypothesis of each sentence to the file `output`.

    `hypotheses` is a file with `count` lines for each line of `references`, best first; empty lines
    take the place of missing hypotheses. Returns the number of sentences whose chosen hypothesis is
    not the teacher's best one.
    """
    changed, done = 0, 0
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    with (
        open(hypotheses, encoding="utf-8", newline="\n") as found,
        open(references, encoding="utf-8", newline="\n") as wanted,
        atomic_file(output) as file,
        Progress("choosing", unit="sentences") as progress,
    ):
        progress.to(0)
        while block := [line.rstrip("\n") for line in itertools.islice(wanted, BLOCK)]:
            lines = [line.rstrip("\n") for line in itertools.islice(found, count * len(block))]
            if len(lines) != count * len(block):
                raise ValueError(
                    f"{hypotheses} must have {count} lines for each line of {references}. Delete "
                    "it and run the same command again"
                )
            for number, index in enumerate(closest(lines, block)):
                file.write(f"{lines[number * count + index]}\n".encode())
                changed += index > 0
            done += len(block)
            progress.to(done)
    return changed


def closest(hypotheses, references):
    """Returns the index of the hypothesis closest to each reference; of equal ones, the first.

    `hypotheses` are equally many texts for each reference, one after the other.

    >>> closest(["a dog is asleep", "the dog sleeps"], ["the dog sleeps"])
    [1]
    """
    count = len(hypotheses) // len(references)
    scores = sentence_bleu(hypotheses, [text for text in references for _ in range(count)])
    return np.reshape(scores, (-1, count)).argmax(axis=1).tolist()
