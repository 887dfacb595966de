"""Sentences of the toy grammar joined to lines of any length."""

import random

from pipelines.toy_grammar import sentences


def chained_lines(lengths, split, seed=0):
    """Returns a list of pairs (English, German), one line for each of `lengths`.

    A line joins as many sentences as fit into its length, in words and punctuation marks of the
    longer language, but at least one.

    Args:
        lengths: maximum lengths.
        split: "train" or "test", see `toy_grammar.sentences`.
        seed: random seed of the sentences.
    """
    source, lines = sentences(split, seed), []
    waiting = next(source)
    for length in lengths:
        line = [waiting]
        waiting = next(source)
        while size([*line, waiting]) <= length:
            line.append(waiting)
            waiting = next(source)
        lines.append(tuple(" ".join(side) for side in zip(*line, strict=True)))
    return lines


def size(pairs):
    """Returns the words and punctuation marks of pairs in the longer language."""
    return max(
        sum(len(text.replace(",", " ,").split()) + 1 for text in side)
        for side in zip(*pairs, strict=True)
    )


def random_lengths(count, longest, seed=0):
    """Returns lengths between 1 and `longest`, evenly distributed."""
    choices = random.Random(seed)
    return [choices.randint(1, longest) for _ in range(count)]
