"""Sentences of the toy grammar joined to lines of any length."""

import random

from pipelines.toy.grammar import sentences
from t2t_keras.reproduction.texts import encoded_files

LANGUAGES = ("en", "de")
DEV_LINES = 100


def encoded_chains(folder, recipe, longest, test_lengths):
    """Writes lines for training, evaluation and tests, and encodes those for training.

    Args:
        folder: folder of the text.
        recipe: a `Recipe`. Its `data.toy_pairs` is the number of lines to train on.
        longest: maximum length of the lines for training and evaluation, see `chained_lines`.
        test_lengths: maximum length of each test line.

    Returns:
        An `EncodedText` with the lines for evaluation. `chain_paths(folder, "test")` are the tests.
    """
    folder.mkdir(exist_ok=True)
    lengths = random_lengths(recipe.experiment.data.toy_pairs, longest)
    files = {
        "train": chained_lines(lengths, "train"),
        "dev": chained_lines(random_lengths(DEV_LINES, longest), "test", seed=1),
        "test": chained_lines(test_lengths, "test"),
    }
    for name, lines in files.items():
        for path, side in zip(chain_paths(folder, name), zip(*lines, strict=True), strict=True):
            path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    train, dev = (chain_paths(folder, name) for name in ("train", "dev"))
    return encoded_files(folder, "chained sentences", recipe, *train, dev)


def chain_paths(folder, name):
    """Returns the source and the target file of "train", "dev" or "test"."""
    return [folder / f"{name}.{language}" for language in LANGUAGES]


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
