"""The inputs and settings of a prepared folder, recorded to detect changes."""

import dataclasses
import json

from pipelines.atomic_files import digest, read_json
from pipelines.languages.language_codes import normalized

FORMAT = 1  # format of a prepared folder; folders in other formats are rejected


def refuse_other_files(folder):
    """Raises `ValueError` if a folder contains files that a preparation does not write."""
    ours = ("cleaned", "preparation", "vocabulary", "shard-", "store.", "report", ".lock")
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(ours))
    if others:
        raise ValueError(
            f"{folder} contains other files ({', '.join(others[:3])}). Give the name of a new "
            "folder"
        )


def inputs_of(source, config, tokenizer, tag=None, languages=()):
    """Returns everything that the encoded data depends on, as a dictionary.

    Args:
        source: a source of pairs, see `sources.py`.
        config: a `DataConfig`.
        tokenizer: an existing tokenizer, or None if one is to be learned.
        tag: tag before every source, or None.
        languages: codes of the languages that the cleaning depends on, or ().
    """
    cleaning = dataclasses.asdict(config.cleaning)
    if languages:
        cleaning["languages"] = list(languages)
    if tokenizer is None:
        vocabulary = dataclasses.asdict(config.vocabulary)
    else:
        normalization = dataclasses.asdict(tokenizer.normalization)
        cleaning |= {"nfc": "the vocabulary's", "control_characters": "the vocabulary's"}
        vocabulary = {"contents": digest(tokenizer.contents()), **normalization}
    origin = {
        "format": FORMAT,
        **source.fingerprint(),
        "cleaning": cleaning,
        "encodings": dataclasses.asdict(config.encodings),
        "tag": tag,
        "vocabulary": vocabulary,
    }
    return json.loads(json.dumps(origin))


def cleaned_from(origin):
    """Returns the inputs that the cleaned text depends on: all except those for encoding."""
    normalization = origin["vocabulary"] if "contents" in origin["vocabulary"] else None
    encoding = ("vocabulary", "encodings", "tag", "languages")
    cleaned = {name: value for name, value in origin.items() if name not in encoding}
    return {**cleaned, "vocabulary": normalization}


def languages_of(source, languages=None):
    """Returns the given codes of the two languages as a list, or those that a source guesses.

    [] means that they are unknown.
    """
    try:
        return [*map(normalized, languages or getattr(source, "languages", None) or ())]
    except ValueError:
        if languages:
            raise
        return []  # features of a data set with other names


def is_begun(folder, origin):
    """Returns whether the preparation of a folder has begun with these inputs.

    Raises `ValueError` if it has begun with different inputs or settings.
    """
    known = read_json(folder / "preparation.json")
    if known is None:
        return False
    changes = []
    for name in sorted((known.keys() | origin.keys()) - {"languages"}):
        before, now = known.get(name), origin.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            fields = sorted(each for each in before | now if before.get(each) != now.get(each))
            was = (f"(was {before.get(each)!r}, is {now.get(each)!r})" for each in fields)
            changes += [f"{name}.{each} {text}" for each, text in zip(fields, was, strict=True)]
        elif before != now:
            changes.append(name)
    if changes:
        raise ValueError(
            f"{folder} was prepared from different input or settings. Changed: "
            f"{', '.join(changes)}. Give a different output folder, or delete this one to start "
            "over"
        )
    return True
