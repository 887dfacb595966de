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
import shutil
from pathlib import Path

from absl import logging

from pipelines.atomic_files import (
    RUN_AGAIN,
    atomic_folder,
    check_links,
    locked_folder,
    read_json,
    write_json,
    write_text,
)
from pipelines.batches.id_store import IdStore, Shard, contents_of, shards_in
from pipelines.data_config import DataConfig
from pipelines.preparation.prepare_warnings import advice, text_warnings, vocabulary_warnings
from pipelines.preparation.recorded_inputs import (
    cleaned_from,
    inputs_of,
    is_begun,
    record_languages,
    recorded_languages,
    refuse_other_files,
)
from pipelines.preparation.report import dropped_text, make_report, report_text
from pipelines.text.cleaned_text import all_examples, clean_all, sampled_lines, total_counts
from pipelines.text.cleaning_rules import RULES, Cleaning
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.bpe_dropout import refuse_other_kinds
from pipelines.tokenizers.tags import tag_id, tagged
from pipelines.tokenizers.vocabulary import learn


def prepare(source, folder, config=None, tokenizer=None, tag=None, languages=None, plugins=None):
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

    Returns:
        The report, as a dictionary.
    """
    given = source, folder, config, tokenizer, tag, languages, plugins
    return prepare_by(clean_all, encode_all, *given)


def prepare_by(
    clean_into,
    encode_into,
    source,
    folder,
    config=None,
    tokenizer=None,
    tag=None,
    languages=None,
    plugins=None,
):
    """Prepares a corpus with the given functions for cleaning and encoding.

    Args:
        clean_into: function of (source, folder, `Cleaning`) that writes the parts of the cleaned
            text.
        encode_into: function of (folder, tokenizer, encodings config) that writes the missing
            shards. The tokenizer adds the tag.
        source, folder, config, tokenizer, tag, languages, plugins: see `prepare`.
    """
    config = DataConfig() if config is None else config
    if tag is not None and tokenizer is None:
        config = copy.deepcopy(config)
        config.vocabulary.tags = tuple(dict.fromkeys([*config.vocabulary.tags, tag]))
    config.validate()
    if tag is not None and tokenizer is not None:
        tag_id(tokenizer, tag)
    if tokenizer is None:
        refuse_other_kinds(config.encodings, [config.vocabulary.kind])
    else:
        refuse_other_kinds(config.encodings, [tokenizer.source.kind, tokenizer.target.kind])
    folder = Path(folder)
    check_links(folder)
    with locked_folder(folder):
        refuse_other_files(folder)
        remove_unfinished(folder)
        recorded = recorded_languages(source, languages)
        normalization = tokenizer.normalization if tokenizer else None
        cleaning = Cleaning.of(config.cleaning, normalization, recorded.get("languages"))
        origin = inputs_of(source, config, tokenizer, tag, cleaning.languages) | recorded
        if plugins:
            origin["plugins"] = dict(plugins)
        if is_begun(folder, origin) and is_finished(folder):
            check_intact(folder)
            record_languages(folder, origin)
        else:
            finish(
                clean_into, encode_into, source, folder, config, cleaning, tokenizer, origin, tag
            )
        report = renewed_report(folder, config)
    for text in report.get("warnings", ()):  # reports from earlier versions have no warnings
        logging.warning(text)
    return report


def finish(clean_into, encode_into, source, folder, config, cleaning, tokenizer, origin, tag):
    """Runs all steps that are not finished yet."""
    cleaned, is_learned = folder / "cleaned", tokenizer is None
    if read_json(cleaned / "origin.json", {}) != cleaned_from(origin):
        shutil.rmtree(cleaned, ignore_errors=True)  # absent or outdated
        with atomic_folder(cleaned) as unfinished:
            clean_into(source, unfinished, cleaning)
            write_json(unfinished / "origin.json", cleaned_from(origin))
    counts = total_counts(cleaned)
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
    encode_into(folder, tagged(load_tokenizer(folder / "vocabulary"), tag), config.encodings)
    store = IdStore([Shard.read(folder / name) for name in shards_in(folder)])
    sizes = dict(zip(shards_in(folder), map(len, store.shards), strict=True))
    write_json(folder / "store.json", sizes)
    warnings = text_warnings(source, counts, cleaning, cleaned)
    if is_learned:
        warnings += vocabulary_warnings(store, load_tokenizer(folder / "vocabulary"))
    facts = {"warnings": list(warnings), "examples": all_examples(cleaned)}
    facts["files"] = list(files_of(source))
    write_report(folder, store, counts, config, facts)
    shutil.rmtree(cleaned)


def encode_all(folder, tokenizer, encodings):
    """Encodes the cleaned text with `tf.data`, on all cores of this machine."""
    from pipelines.preparation.graph_encoding import encode_parts  # loads TensorFlow

    encode_parts(folder, tokenizer, encodings)


def is_finished(folder):
    """Returns whether all results exist. If they do, removes any cleaned text that is left."""
    if not (folder / "report.json").exists() or not (folder / "store.json").exists():
        return False
    if set(contents_of(folder)) - set(shards_in(folder)):
        return False
    shutil.rmtree(folder / "cleaned", ignore_errors=True)
    return True


def remove_unfinished(folder):
    """Removes the unfinished files of processes that were killed."""
    for leftover in folder.glob("*.unfinished"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()


def check_intact(folder):
    """Raises `ValueError` if the shards or the vocabulary of a finished preparation are damaged."""
    IdStore.read(folder).check_ids(load_tokenizer(folder / "vocabulary"))


def write_report(folder, store, counts, config, facts):
    """Writes the report. report.json is written last and marks the preparation as finished.

    Args:
        facts: the entries "warnings", "examples" and "files" of the report.
    """
    report = make_report(store, load_tokenizer(folder / "vocabulary"), counts, config.batches)
    report |= facts
    write_text(folder / "report.txt", report_text(report))
    write_json(folder / "report.json", report)


def files_of(source):
    """Returns the names of the files or of the data set that a source reads, as far as known."""
    if getattr(source, "name", None):
        return [source.name]
    files = getattr(source, "files", [])
    sides = files.values() if isinstance(files, dict) else [files]
    return [str(file) for side in sides for file in side]


def renewed_report(folder, config):
    """Returns the report, updated if the batch settings have changed. Restores report.txt."""
    path = folder / "report.json"
    report = read_json(path)
    try:
        if report["batches"]["settings"] != dataclasses.asdict(config.batches):
            defaults = {"warnings": [], "examples": {}, "files": []}
            facts = {name: report.get(name, default) for name, default in defaults.items()}
            write_report(folder, IdStore.read(folder), report["counts"], config, facts)
            report = read_json(path)
        text = report_text(report)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a report ({error!r}). {RUN_AGAIN}") from error
    text_file = folder / "report.txt"
    if not text_file.exists() or text_file.read_text("utf-8", "replace") != text:
        write_text(text_file, text)
    return report
