"""Exports of a run as packages of Argos Translate.

A package is a zip file of one folder with metadata.json, a model of CTranslate2, one SentencePiece
model for both languages, and README.md. Its bytes depend only on the contents.
"""

import io
import json
import tempfile
import zipfile
from pathlib import Path

from pipelines.atomic_files import atomic_file
from pipelines.tokenizers.byte_pairs import BytePairTokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from pipelines.tokenizers.normalizing_sentencepiece import normalizing
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.exports.exporting import prepare
from t2t_keras.runs.exports.writers import write_ctranslate2

SUFFIX = ".argosmodel"
PACKAGE_VERSION = "1.0"
ARGOS_VERSION = "1.11"  # earlier versions write byte pieces, such as <0xC3>, as they are
# {our code: the code in Argos}, where they differ
CODES = {"pt-BR": "pb", "zh-Hant": "zt", "zh-Hans": "zh"}
README = """# {from_name} to {to_name}

A Transformer of the paper "Attention Is All You Need" with {weights:,} weights in {dtype}, written
by t2t_keras.

    python3 -c "from argostranslate import package as p; p.install_from_path('{name}.argosmodel')"
    argos-translate --from-lang {from_code} --to-lang {to_code} "..."

Argos Translate splits a text into sentences, for which it downloads a model of MiniSBD once. It
searches with a beam of 4, and writes a space for every underscore.
"""


def write(run, path=None, weights=None, dtype="int8", languages=None):
    """Writes a package for Argos Translate, and returns its path; see `Run.export`."""
    languages = languages or run.languages()
    if languages is None:
        raise ValueError(
            f"{run.folder} does not record its languages, which an Argos package names. Give them: "
            "--languages=en,de"
        )
    codes = [CODES.get(code, code) for code in languages]
    name = f"translate-{'_'.join(codes)}-{PACKAGE_VERSION.replace('.', '_')}"
    path = path or run.folder / f"{name}{SUFFIX}"
    if path.suffix != SUFFIX:
        raise ValueError(f"--output must name a file that ends in {SUFFIX}. Received: {path}")
    metadata = {
        **{"package_version": PACKAGE_VERSION, "argos_version": ARGOS_VERSION},
        **{"from_code": codes[0], "from_name": languages.names[0]},
        **{"to_code": codes[1], "to_name": languages.names[1], "type": "translate"},
    }
    count = sum(parameter_counts(run.experiment().model).values())
    parts = {
        "metadata.json": json.dumps(metadata, indent=4),
        "README.md": README.format(name=name, weights=count, dtype=dtype, **metadata),
        "sentencepiece.model": sentencepiece_of(run),
    }
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        prepared, _ = prepare(run, "ctranslate2", weights, dtype)
        write_ctranslate2(*prepared, model)
        for file in sorted(each for each in model.rglob("*") if each.is_file()):
            parts[f"model/{file.relative_to(model).as_posix()}"] = file.read_bytes()
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        for part, contents in parts.items():
            info = zipfile.ZipInfo(f"{name}/{part}")
            info.external_attr = 0o100644 << 16
            archive.writestr(info, contents, zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as output:
        output.write(package.getvalue())
    return path


def sentencepiece_of(run):
    """Returns the SentencePiece model with which Argos splits sources and joins translations.

    Rejects a run whose pieces Argos would not find.
    """
    tokenizer = run.tokenizer()
    source, target = tokenizer.source, tokenizer.target
    for reason in reasons_against(source, target):
        raise ValueError(f"{run.folder} is not exported for Argos Translate, which {reason}")
    if isinstance(source, BytePairTokenizer):
        return normalizing(source.model, source.normalization)
    return source.model


def reasons_against(source, target):
    for name, side in (("source", source), ("target", target)):
        if not isinstance(side, BytePairTokenizer | MappedSentencePiece):
            kind = f"The {name} has a vocabulary of kind {side.kind!r}"
            yield f"splits text with SentencePiece. {kind}"
    if source.start:
        yield "puts no tag before a source. Export a SavedModel"
    if getattr(source, "splits_codes", False) and source.codes:
        code = min(source.codes)
        yield f"does not know that a text may begin with a language code such as {code}"
    if lost := {*target.pieces(target.byte_ids)} - {*source.pieces(source.byte_ids)}:
        pieces = f"it has no byte pieces such as {min(lost)}, which the target has"
        yield f"joins translations with the SentencePiece model of the source: {pieces}"
