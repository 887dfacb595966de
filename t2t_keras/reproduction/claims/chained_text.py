"""Sentences of the toy grammar, chained into lines of any length."""

import random

from pipelines.toy.grammar import sentences
from t2t_keras.reproduction.texts import encoded_pairs

DEV_LINES = 100  # lines for evaluation during training


def encoded_chains(folder, recipe, longest, test_lengths):
    """Writes lines for training, evaluation and testing; returns the first two as `EncodedText`.

    `longest` is the maximum length of these lines, see `chained_lines`, and `test_lengths` the
    lengths of the test lines, which are in `pair_paths(folder, "test")`.
    """
    lengths = random_lengths(recipe.experiment.data.toy_pairs, longest)
    sets = {
        "train": chained_lines(lengths, "train"),
        "dev": chained_lines(random_lengths(DEV_LINES, longest), "test", seed=1),
        "test": chained_lines(test_lengths, "test"),
    }
    return encoded_pairs(folder, "chained sentences", recipe, sets)


def chained_lines(lengths, split, seed=0):
    """Returns a list of (English line, German line), one pair for each of `lengths`.

    A line is a chain of as many sentences as fit into its length, but at least one sentence. The
    length counts words and punctuation marks, in the language with the longer line.

    For `split` and `seed`, see `pipelines.toy.grammar.sentences`.
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
    """Counts words and punctuation marks of pairs, in the language with the larger count."""
    return max(
        sum(len(text.replace(",", " ,").split()) + 1 for text in side)
        for side in zip(*pairs, strict=True)
    )


def random_lengths(count, longest):
    """Returns random lengths, uniformly distributed from 1 to `longest`."""
    choices = random.Random(0)
    return [choices.randint(1, longest) for _ in range(count)]
