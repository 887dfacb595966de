"""The texts of tables 2 and 3 and of the claims: files, data sets, data, the toy grammar."""

import itertools
import re
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import atomic_file, read_json, write_text
from pipelines.text.opened_text import find_files
from pipelines.toy.documents import documents
from pipelines.toy.grammar import pairs
from t2t_keras.checks import check_choice
from t2t_keras.runs.text_files import read_set
from t2t_keras.stages.stages import Stages


class EncodedText(NamedTuple):
    folder: Path  # folder of the encoded text
    stages: Stages  # `Stages` that wrote it
    dev: tuple | None  # source and target files of the held-out text, or None

    @property
    def pairs(self):
        """The number of sentence pairs."""
        return read_json(self.folder / "report.json")["counts"]["kept"]


def chosen_rows(rows, names):
    """Returns the rows in `names`, or all rows if there are no names."""
    for name in names or []:
        check_choice("rows", name, rows)
    return list(names or rows)


def check_files(plan):
    """Rejects missing training files, and held-out files that are not parallel."""
    for name in ("source", "target"):
        if getattr(plan, name):
            find_files(name, getattr(plan, name))
    if plan.dev_source:
        read_set("--dev_source and --dev_target", plan.dev_source, plan.dev_target)


def encoded_text(plan, folder, name, recipe, data_set, languages):
    """Returns the plan's training text, or a data set if it has none, as an `EncodedText`.

    The validation split of the TensorFlow data set is the held-out text, unless the plan names one.
    """
    dev = (plan.dev_source, plan.dev_target) if plan.dev_source else None
    if plan.source:
        return encoded_files(folder, name, recipe, plan.source, plan.target, dev)
    if plan.data:
        return prepared_data(folder, name, plan.data, dev)
    flags = [f"--tfds={data_set}", f"--languages={','.join(languages)}"]
    if plan.data_dir:
        flags.append(f"--data_dir={plan.data_dir}")
    dev = dev or tfds_files(plan, folder, data_set, languages, "validation")
    return prepared(folder, name, recipe, flags, dev)


def encoded_files(folder, name, recipe, source, target, dev, vocabulary=None):
    """Encodes text files as an `EncodedText`.

    `vocabulary` is the folder of an existing vocabulary. None: learn one from the text.
    """
    flags = [f"--source={source}", f"--target={target}"]
    reads = [*find_files("source", source), *find_files("target", target)]
    if vocabulary is not None:
        recipe = recipe.without_vocabulary()
        flags.append(f"--vocabulary={vocabulary}")
        reads += sorted(path for path in vocabulary.rglob("*") if path.is_file())
    return prepared(folder, name, recipe, flags, dev, reads)


def prepared(folder, name, recipe, flags, dev, reads=()):
    """Encodes a text into `folder/data` and returns its `EncodedText`.

    `flags` of t2t-prepare name the text, `reads` are the files that contain it, if any.
    """
    stages, data = Stages(folder, name), folder / "data"
    stages.run_once(
        stage="prepare",
        command="prepare",
        arguments=[*recipe.prepare_flags(), *flags, f"--output={data}"],
        creates=data / "report.json",
        reads=reads,
    )
    return EncodedText(data, stages, dev)


def prepared_data(folder, name, data, dev):
    """Returns the `EncodedText` in a folder written by t2t-prepare."""
    report = read_json(Path(data) / "report.json")
    if report is None:
        raise ValueError(
            f"--data must be a folder with finished data. t2t-prepare writes one. Received: {data}"
        )
    stages = Stages(folder, name)
    stages.history.append([data, report])
    return EncodedText(Path(data), stages, dev)


def tfds_files(plan, folder, data_set, languages, split):
    """Writes a split of a data set to two text files unless they exist; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{re.sub(r'[^0-9A-Za-z]+', '_', data_set)}-{split}"
    paths = [folder / f"{name}.{language}" for language in languages]
    if not all(path.exists() for path in paths):
        from pipelines.text.tfds_source import TfdsPairs  # takes seconds to load

        sides = zip(*TfdsPairs(data_set, languages, split, plan.data_dir), strict=True)
        for path, texts in zip(paths, sides, strict=True):
            with atomic_file(path) as file:
                file.writelines(b" ".join(text.split()) + b"\n" for text in texts)
    return paths


def encoded_toy_grammar(folder, recipe, vocabulary=None):
    """Encodes sentences of the toy grammar; unseen combinations of words are held out."""
    count = recipe.experiment.data.toy_pairs
    sets = {"train": pairs(count), "dev": pairs(300, "test")}
    return encoded_pairs(folder, "toy grammar", recipe, sets, vocabulary)


def encoded_toy_documents(folder, recipe, words, shortest):
    """Encodes toy documents; for `words` and `shortest`, see `documents`."""
    counts = {"train": recipe.experiment.data.toy_pairs, "test": 100}
    train, dev = (
        [pair[:2] for pair in itertools.islice(documents(words, split, shortest=shortest), count)]
        for split, count in counts.items()
    )
    return encoded_pairs(folder, "toy documents", recipe, {"train": train, "dev": dev})


def encoded_pairs(folder, name, recipe, sets, vocabulary=None):
    """Writes sets of pairs, (English, German), to files; encodes one as an `EncodedText`.

    `sets` are {name: list of pairs}: "train", which is encoded, "dev", the held-out text, and
    others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for part, lines in sets.items():
        for path, side in zip(pair_paths(folder, part), zip(*lines, strict=True), strict=True):
            # The training runs of other rows may be reading the file.
            write_text(path, "".join(f"{line}\n" for line in side))
    train, dev = (pair_paths(folder, part) for part in ("train", "dev"))
    return encoded_files(folder, name, recipe, *train, dev, vocabulary)


def pair_paths(folder, part):
    """Returns the English and the German file of a set that `encoded_pairs` writes."""
    return [folder / f"{part}.{language}" for language in ("en", "de")]
