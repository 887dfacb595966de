"""Exports of a run as packages of Argos Translate."""

import shutil
import tempfile
from pathlib import Path

from pipelines.atomic_files import atomic_file
from pipelines.tokenizers.byte_pairs import BytePairTokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from pipelines.tokenizers.normalizing_sentencepiece import normalizing
from t2t_keras.export.argos import MODEL, SUFFIX, argos_code, package_name, save_argos
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.exports.exporting import prepare
from t2t_keras.runs.exports.writers import write_ctranslate2

PURPOSE = "is not exported for Argos Translate"


def write(run, path=None, weights=None, dtype="int8", languages=None):
    """Writes a package for Argos Translate, and returns its path.

    Args:
        run: a `Run`.
        path: path of the file. None: a file inside the run, named after the languages.
        weights: see `Run`.
        dtype: type of the stored weights, as for CTranslate2.
        languages: the `Languages`. None: as the run records.
    """
    languages = languages or run.languages()
    if languages is None:
        raise ValueError(
            f"{run.folder} does not record its languages, which an Argos package names. Give them: "
            "--languages=en,de"
        )
    codes = [*map(argos_code, languages)]
    path = path or run.folder / f"{package_name(codes)}{SUFFIX}"
    if path.suffix != SUFFIX:
        raise ValueError(f"--output must name a file that ends in {SUFFIX}. Received: {path}")
    sentencepiece = sentencepiece_of(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    # At most one process writes the file.
    with atomic_file(path) as output, tempfile.TemporaryDirectory() as folder:
        model, package = Path(folder) / MODEL, Path(folder) / "package.zip"
        write_ctranslate2(prepare(run, "ctranslate2", weights, dtype)[0], model)
        shutil.rmtree(model / "vocabulary")  # the package has its own
        count = sum(parameter_counts(run.experiment().model).values())
        save_argos(package, model, sentencepiece, codes, languages.names, count, dtype)
        with open(package, "rb") as file:
            shutil.copyfileobj(file, output)
    return path


def sentencepiece_of(run):
    """Returns the SentencePiece model with which Argos splits sources and joins translations.

    Raises:
        ValueError: Argos would not find the pieces of this run's tokenizer.
    """
    tokenizer = run.tokenizer()
    source, target = tokenizer.source, tokenizer.target
    for name, side in (("source", source), ("target", target)):
        if not isinstance(side, BytePairTokenizer | MappedSentencePiece):
            raise ValueError(
                f"{run.folder} {PURPOSE}, which splits text with SentencePiece. The {name} has a "
                f"vocabulary of kind {side.kind!r}"
            )
    if source.start:
        raise ValueError(
            f"{run.folder} {PURPOSE}, which puts no tag before a source. Export a SavedModel"
        )
    if getattr(source, "splits_codes", False) and source.codes:
        raise ValueError(
            f"{run.folder} {PURPOSE}, which does not know that a text may begin with a language "
            f"code such as {min(source.codes)}"
        )
    lost = {*target.pieces(target.byte_ids)} - {*source.pieces(source.byte_ids)}
    if lost:
        raise ValueError(
            f"{run.folder} {PURPOSE}, which joins translations with the SentencePiece model of the "
            f"source: it has no byte pieces such as {min(lost)}, which the target has"
        )
    if isinstance(source, BytePairTokenizer):
        return normalizing(source.model, source.normalization)
    return source.model
