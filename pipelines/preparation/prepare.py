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
import shutil
from pathlib import Path

from absl import logging

from pipelines.atomic_files import (
    atomic_folder,
    locked_folder,
    read_json,
    write_json,
    write_text,
)
from pipelines.batches.encoding import encode
from pipelines.batches.id_store import SIDES, IdStore, finished_store, shards_in
from pipelines.checks import SourceError
from pipelines.data_config import DataConfig
from pipelines.preparation.prepare_warnings import advice, text_warnings, vocabulary_warnings
from pipelines.preparation.recorded_inputs import (
    cleaned_from,
    inputs_of,
    is_begun,
    languages_of,
    refuse_other_files,
)
from pipelines.preparation.report import batches_report, dropped_text, make_report, report_text
from pipelines.progress import Progress
from pipelines.text import cleaned_text
from pipelines.text.cleaned_text import facts_of, lines_of, parts_in, sampled_lines, write_part
from pipelines.text.cleaning import Cleaning, judged, without_duplicates
from pipelines.text.cleaning_rules import RULES
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.bpe_dropout import refuse_other_kinds
from pipelines.tokenizers.tags import tag_id, tagged
from pipelines.tokenizers.vocabulary import learn


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
                write_part(part, folder, index, progress)

    def encode(self, parts, encode_part):
        """Calls `encode_part` with each folder of a part and a `Progress`."""
        counts = [read_json(part / "counts.json")["pairs"]["kept"] for part in parts]
        with Progress("encoding", 2 * sum(counts), unit="sentences") as progress:
            for part in parts:
                encode_part(part, progress)


def prepare(
    source,
    folder,
    config=None,
    tokenizer=None,
    tag=None,
    languages=None,
    plugins=None,
    steps=None,
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
        if is_begun(folder, origin) and is_finished(folder):
            IdStore.read(folder)  # raises an error about damage, and so does the vocabulary
            load_tokenizer(folder / "vocabulary")
            known = read_json(folder / "preparation.json")
            if languages and known.get("languages") != languages:  # the data does not depend on it
                write_json(folder / "preparation.json", known | {"languages": languages})
        else:
            finish(steps, source, folder, config, cleaning, tokenizer, origin)
        report = read_json(folder / "report.json")
        if report["batches"]["settings"] != dataclasses.asdict(config.batches):
            report["batches"] = batches_report(IdStore.read(folder), config.batches)
            write_report(folder, report)
    for text in report["warnings"]:
        logging.warning(text)
    return report


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
    counts, examples, first = facts_of(cleaned)
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
            texts = sampled_lines(cleaned, counts["kept"], config.vocabulary)
            tokenizer = learn(texts, config.vocabulary, cleaning.normalization, cleaned)
        with atomic_folder(folder / "vocabulary") as unfinished:
            save_tokenizer(tokenizer, unfinished)
        write_json(folder / "preparation.json", origin)
    missing = [part for part in parts_in(cleaned) if not shard_of(part).exists()]
    encode_one = functools.partial(encode_part, tag=origin["tag"], encodings=config.encodings)
    steps.encode(missing, encode_one)
    store, tokenizer = finished_store(folder), load_tokenizer(folder / "vocabulary")
    warnings = list(text_warnings(counts, first, cleaned))
    if is_learned:
        warnings += vocabulary_warnings(store, tokenizer)
    report = make_report(store, tokenizer, counts, config.batches)
    facts = {"warnings": warnings, "examples": examples, "files": files_of(source)}
    write_report(folder, report | facts)
    shutil.rmtree(cleaned)


def encode_part(part, progress=None, *, tag, encodings):
    """Encodes the cleaned text in the folder of a part, and writes its shard."""
    tokenizer = tagged(load_tokenizer(part.parent.parent / "vocabulary"), tag)
    texts = [lines_of(part / side) for side in SIDES]
    index = int(part.name.removeprefix("part-"))
    encode(texts, tokenizer, encodings, index, progress).write(shard_of(part))


def shard_of(part):
    """Returns the path of the shard for a part of the cleaned text."""
    return part.parent.parent / part.name.replace("part", "shard")


def write_report(folder, report):
    """Writes the report. report.json is written last and marks the preparation as finished."""
    write_text(folder / "report.txt", report_text(report))
    write_json(folder / "report.json", report)


def files_of(source):
    """Returns the names of the files or of the data set that a source reads, as far as known."""
    if getattr(source, "name", None):
        return [source.name]
    return [str(file) for file in getattr(source, "files", [])]
