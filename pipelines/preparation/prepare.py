"""Prepares a corpus: cleans it, learns the vocabulary, encodes the text, and writes a report.

Every file is either complete or absent. After an interruption, the same call resumes at the first
missing step or shard.

    FOLDER/
      cleaned/            the kept text in parts, deleted when all of it is encoded
      preparation.json    inputs and settings; a call with different ones is rejected
      vocabulary/         the tokenizer
      shard-000000/ …     the ids, one shard per part
      store.json          the list of shards
      report.json, report.txt
"""

import copy
import dataclasses
import functools
import itertools
import json
import shutil
from pathlib import Path

from absl import logging

from pipelines.atomic_files import atomic_folder, digest, locked_folder, read_json, write_json
from pipelines.batches.encoding import encode
from pipelines.batches.id_store import SIDES, IdStore, finished_store, ragged, shards_in
from pipelines.checks import SourceError
from pipelines.data_config import DataConfig
from pipelines.languages.language_codes import normalized
from pipelines.preparation.report import (
    advice,
    batches_report,
    dropped_text,
    make_report,
    text_warnings,
    vocabulary_warnings,
    write_report,
)
from pipelines.progress import Progress
from pipelines.text import cleaned_text
from pipelines.text.cleaning import Cleaning, judged, without_duplicates
from pipelines.text.cleaning_rules import RULES
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.bpe_dropout import refuse_other_kinds
from pipelines.tokenizers.tags import tag_id, tagged
from pipelines.tokenizers.vocabulary import learn

FORMAT = 1  # format of a prepared folder; folders in other formats are rejected


class InThisProcess:
    """Runs the steps that read the whole corpus. `OnApacheBeam` runs them on several machines."""

    def clean(self, source, folder, cleaning):
        """Cleans a source, see `sources.py`, and writes the kept pairs in parts."""
        verdicts = judged(source, cleaning)
        if cleaning.config.duplicates:
            verdicts = without_duplicates(verdicts)
        with Progress("reading and cleaning", unit="pairs") as progress:
            for index, first in enumerate(verdicts):
                part = itertools.chain([first], itertools.islice(verdicts, cleaned_text.PART - 1))
                cleaned_text.write_part(part, folder, index, kinds_of(source), progress)

    def encode(self, parts, encode_part):
        """Calls `encode_part` with each folder of a part and a `Progress`."""
        counts = [read_json(part / "counts.json")["pairs"]["kept"] for part in parts]
        with Progress("encoding", 2 * sum(counts), unit="sentences") as progress:
            for part in parts:
                encode_part(part, progress)


def prepare(
    source, folder, config=None, tokenizer=None, tag=None, languages=None, plugins=None, steps=None
):
    """Converts a corpus to an id store with its vocabulary.

    Args:
        source: a source of pairs, see `sources.py`.
        folder: the output folder, new or from an interrupted preparation.
        config: a `DataConfig`.
        tokenizer: an existing tokenizer, whose normalization replaces the config's. If None, a
            tokenizer is learned.
        tag: tag to put before every source, see `tags.py`, or None. A learned tokenizer reserves a
            piece for the tag.
        languages: codes of the two languages, such as ("en", "de"), which are recorded. None: as
            the source says.
        plugins: {name: digest} of the plug-in files whose rules or source are used, which are
            recorded so that a changed file is noticed. None: there are none.
        steps: an `OnApacheBeam`. None: the steps run in this process.

    Returns:
        The report, as a dictionary.
    """
    config, steps = copy.deepcopy(config or DataConfig()), steps or InThisProcess()
    if tag is not None and tokenizer is None:
        config.vocabulary.tags = tuple(dict.fromkeys([*config.vocabulary.tags, tag]))
    config.validate()
    if tag is not None and tokenizer is not None:
        tag_id(tokenizer, tag)
    refuse_other_kinds(config.encodings, tokenizer, config.vocabulary.kind)
    folder = Path(folder)
    with locked_folder(folder):
        refuse_other_files(folder)
        for leftover in folder.glob("*.unfinished"):  # of processes that were killed
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        languages = languages_of(source, languages)
        normalization = tokenizer.normalization if tokenizer else None
        cleaning = Cleaning(config.cleaning, normalization, languages)
        origin = inputs_of(source, config, tokenizer, tag, cleaning.languages)
        origin |= {"languages": languages} if languages else {}
        origin |= {"plugins": dict(plugins)} if plugins else {}
        known = begun_from(folder, origin)
        if known and known != known | origin:  # other languages; the data does not depend on them
            write_json(folder / "preparation.json", known | origin)
        if known and is_finished(folder):
            IdStore.read(folder)  # raises an error about damage, and so does the vocabulary
            load_tokenizer(folder / "vocabulary")
        else:
            finish(steps, source, folder, config, cleaning, tokenizer, origin)
        report = read_json(folder / "report.json")
        if report["batches"]["settings"] != dataclasses.asdict(config.batches):
            report["batches"] = batches_report(IdStore.read(folder), config.batches)
            write_report(folder, report)
    for text in report["warnings"]:
        logging.warning(text)
    return report


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

    `languages` are those that the cleaning depends on, or (). For the others, see `prepare`.
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


def begun_from(folder, origin):
    """Returns the record of a preparation that has begun with these inputs; {} if none has.

    Raises `ValueError` if it has begun with different inputs or settings.
    """
    known = read_json(folder / "preparation.json", {})
    if not known:
        return known
    changes = []
    for name in sorted((known.keys() | origin.keys()) - {"languages"}):
        before, now = known.get(name), origin.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            fields = (each for each in sorted(before | now) if before.get(each) != now.get(each))
            values = ((each, before.get(each), now.get(each)) for each in fields)
            changes += [f"{name}.{each} (was {was!r}, is {new!r})" for each, was, new in values]
        elif before != now:
            changes.append(name)
    if changes:
        raise ValueError(
            f"{folder} was prepared from different input or settings. Changed: "
            f"{', '.join(changes)}. Give a different output folder, or delete this one to start "
            "over"
        )
    return known


def is_finished(folder):
    """Returns whether all results exist. If they do, removes any cleaned text that is left."""
    sizes = read_json(folder / "store.json")
    if sizes is None or not (folder / "report.json").exists() or {*sizes} - {*shards_in(folder)}:
        return False
    shutil.rmtree(folder / "cleaned", ignore_errors=True)
    return True


def finish(steps, source, folder, config, cleaning, tokenizer, origin):
    """Runs all steps that are not finished yet."""
    cleaned, is_learned = folder / "cleaned", tokenizer is None
    if read_json(cleaned / "origin.json", {}) != cleaned_from(origin):
        shutil.rmtree(cleaned, ignore_errors=True)  # absent or outdated
        with atomic_folder(cleaned) as unfinished:
            steps.clean(source, unfinished, cleaning)
            write_json(unfinished / "origin.json", cleaned_from(origin))
    counts, examples, first = cleaned_text.facts_of(cleaned)
    if not counts["read"]:
        raise SourceError(f"There is no text in {', '.join(files_of(source)) or 'the source'}")
    if not counts["kept"]:
        most = max(RULES, key=lambda name: counts.get(name, 0))
        raise ValueError(
            f"Cleaning dropped all {counts['read']:,} pairs ({dropped_text(counts)}). "
            f"{advice(most)}"
        )
    if not (folder / "preparation.json").exists():
        # Without preparation.json, an existing vocabulary or shard may be from a different text.
        for stale in [folder / "vocabulary", *(folder / name for name in shards_in(folder))]:
            shutil.rmtree(stale, ignore_errors=True)
        if tokenizer is None:
            texts = cleaned_text.sampled_lines(cleaned, counts["kept"], config.vocabulary)
            tokenizer = learn(texts, config.vocabulary, cleaning.normalization, cleaned)
        with atomic_folder(folder / "vocabulary") as unfinished:
            save_tokenizer(tokenizer, unfinished)
        write_json(folder / "preparation.json", origin)
    missing = [part for part in cleaned_text.parts_in(cleaned) if not shard_of(part).exists()]
    settings = {"tag": origin["tag"], "encodings": config.encodings}
    encode_one = functools.partial(encode_part, **settings, columns=kinds_of(source))
    steps.encode(missing, encode_one)
    store, tokenizer = finished_store(folder), load_tokenizer(folder / "vocabulary")
    warnings = list(text_warnings(counts, first, cleaned))
    if is_learned:
        warnings += vocabulary_warnings(store, tokenizer)
    report = make_report(store, tokenizer, counts, config.batches)
    facts = {"warnings": warnings, "examples": examples, "files": files_of(source)}
    write_report(folder, report | facts)
    shutil.rmtree(cleaned)


def kinds_of(source):
    """Returns {name: kind} of the columns of a source."""
    return getattr(source, "kinds", {})


def encode_part(part, progress=None, *, tag, encodings, columns):
    """Encodes the cleaned text in the folder of a part, and writes its shard.

    `columns` are {name: kind}.
    """
    tokenizer = tagged(load_tokenizer(part.parent.parent / "vocabulary"), tag)
    texts = [cleaned_text.lines_of(part / side) for side in SIDES]
    index = int(part.name.removeprefix("part-"))
    shard = encode(texts, tokenizer, encodings, index, progress)
    for name, kind in columns.items():
        lines = (part / cleaned_text.column_file(name)).read_bytes().split(b"\n")[:-1]
        shard.columns[name] = ragged(kind.encode(lines, tokenizer))
    shard.write(shard_of(part))


def shard_of(part):
    """Returns the path of the shard for a part of the cleaned text."""
    return part.parent.parent / part.name.replace("part", "shard")


def files_of(source):
    """Returns the names of the files or of the data set that a source reads, as far as known."""
    if getattr(source, "name", None):
        return [source.name]
    return [str(file) for file in getattr(source, "files", [])]
