"""Packages of Argos Translate (https://github.com/argosopentech/argos-translate), unpacked.

A package is a folder with metadata.json, a model of CTranslate2 in `model`, and one SentencePiece
model for both languages. Argos passes the pieces of a sentence to CTranslate2 unchanged, so the
settings in the model's folder are complete.
"""

from t2t_keras.importing import ctranslate2
from t2t_keras.importing.accompanying_files import read_json_file

MODEL = "model"  # folder of CTranslate2 in a package
SENTENCEPIECE, BPE = "sentencepiece.model", "bpe.model"
SEARCH = {"beam": 4, "alpha": 0.2, "penalty": "marian"}  # fixed in Argos Translate 1.11
# Argos's own codes of languages, and the usual ones.
CODES = {"pb": "pt-BR", "zt": "zh-Hant"}
RECORDED = ("package_version", "argos_version", "license", "description", "from_name", "to_name")
LONGEST_TEXT = 2000  # characters of a text that is recorded


def read(folder, source_begin=None, source_end=None):
    """Reads a package and returns an `Imported`; for the options, see `ctranslate2.read`."""
    if not (folder / "metadata.json").is_file():
        raise ValueError(f"{folder} has no metadata.json, which is part of an Argos package")
    metadata = read_json_file(folder / "metadata.json", {})
    if reason := reason_against(folder, metadata):
        raise ValueError(f"{folder} is an Argos package {reason}")
    imported = ctranslate2.read(folder / MODEL, source_begin, source_end, package=folder)
    imported.system = f"Argos package, {imported.system}"
    imported.search = SEARCH
    codes = [metadata[key] for key in ("from_code", "to_code")]
    imported.languages = [CODES.get(code, code) for code in codes]
    imported.origin = {"argos": facts_of(folder, metadata)}
    imported.notes += notes_about(imported)
    return imported


def reason_against(folder, metadata):
    """Returns why a package is not imported, or None."""
    kind = metadata.get("type", "translate")
    if kind != "translate":
        return f"of the type {kind!r}. Only packages that translate are imported"
    if not all(isinstance(metadata.get(key), str) for key in ("from_code", "to_code")):
        return (
            "without one from_code and one to_code in metadata.json: only packages for one pair of "
            "languages are imported"
        )
    if not (folder / MODEL / "model.bin").is_file():
        return (
            f"without {MODEL}/model.bin. Argos translates such a pair through a third language: "
            "import the packages of both steps"
        )
    if metadata.get("target_prefix"):
        return (
            f"whose translations begin with the token {metadata['target_prefix']!r} "
            "(target_prefix). Such a model is not imported"
        )
    if (folder / SENTENCEPIECE).exists():
        return None
    if (folder / BPE).exists():
        return (
            f"whose text is tokenized by Moses and split by {BPE}. Only packages with "
            f"{SENTENCEPIECE} are imported. To tokenize the text yourself, import "
            f"{folder / MODEL} with --format=ctranslate2"
        )
    return f"without {SENTENCEPIECE}"


def facts_of(folder, metadata):
    """Returns the facts in metadata.json that a run records."""
    readme = folder / "README.md"
    texts = {name: metadata.get(name) for name in RECORDED}
    if not texts["description"] and readme.is_file():
        texts["description"] = readme.read_text("utf-8", "replace")
    return {
        name: text[:LONGEST_TEXT] for name, text in texts.items() if isinstance(text, str) and text
    }


def notes_about(imported):
    facts = imported.origin["argos"]
    names = [facts.get(name) for name in ("from_name", "to_name")]
    pair = " to ".join(
        f"{name} ({code})" if name else code
        for name, code in zip(names, imported.languages, strict=True)
    )
    yield f"{pair}, package version {facts.get('package_version', 'unknown')}"
    if "license" in facts:
        yield f"license: {facts['license']}"
