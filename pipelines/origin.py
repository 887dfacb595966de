"""What a prepared folder was made from, so that a change of it is noticed."""

import dataclasses
import hashlib
import json

from pipelines.whole import read_json

FORMAT = 1  # of the folder; one of another format is refused


def refuse_other_things(folder):
    ours = ("cleaned", "preparation", "vocabulary", "shard-", "store.", "report", ".lock")
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(ours))
    if others:
        raise ValueError(
            f"{folder} has other things in it ({', '.join(others[:3])}). Give the name of a new "
            "folder"
        )


def origin_of(source, config, tokenizer):
    """Everything on which the ids depend, under the name by which a change is reported."""
    cleaning = dataclasses.asdict(config.cleaning)
    if tokenizer is None:
        vocabulary = dataclasses.asdict(config.vocabulary)
    else:
        normalization = dataclasses.asdict(tokenizer.normalization)
        cleaning |= {"nfc": "the vocabulary's", "control_characters": "the vocabulary's"}
        vocabulary = {"contents": digest(tokenizer.contents()), **normalization}
    origin = {"format": FORMAT, **source.fingerprint(), "cleaning": cleaning}
    return json.loads(json.dumps({**origin, "vocabulary": vocabulary}))


def digest(contents):
    return hashlib.blake2b(contents, digest_size=16).hexdigest()


def cleaned_from(origin):
    """On what the cleaned text depends, which is all but how it is encoded."""
    normalization = origin["vocabulary"] if "contents" in origin["vocabulary"] else None
    return {**origin, "vocabulary": normalization}


def known_origin(folder, origin):
    """Whether this preparation was begun before; refuses to go on with something else."""
    known = read_json(folder / "preparation.json")
    if known is None:
        return False
    changed = sorted(
        name for name in known.keys() | origin.keys() if known.get(name) != origin.get(name)
    )
    if changed:
        details = []
        for name in changed:
            old, new = known.get(name), origin.get(name)
            if isinstance(old, dict) and isinstance(new, dict):
                details += [
                    f"{name}.{field} (then {old.get(field)!r}, now {new.get(field)!r})"
                    for field in sorted(old.keys() | new.keys())
                    if old.get(field) != new.get(field)
                ]
            else:
                details.append(name)
        raise ValueError(
            f"{folder} was prepared from something else; changed since: {', '.join(details)}. "
            "Give another output folder, or delete this one to prepare it anew"
        )
    return True
