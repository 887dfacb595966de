"""Packages of Argos Translate (https://github.com/argosopentech/argos-translate).

A package is a zip file of one folder with metadata.json, a model of CTranslate2 in `model`, one
SentencePiece model for both languages, and README.md. Its bytes depend only on the contents.
"""

import json
import shutil
import zipfile

SUFFIX = ".argosmodel"
MODEL, SENTENCEPIECE = "model", "sentencepiece.model"
PACKAGE_VERSION = "1.0"
ARGOS_VERSION = "1.11"  # earlier versions write byte pieces, such as <0xC3>, as they are
DATE = (1980, 1, 1, 0, 0, 0)  # of every file in the package
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


def argos_code(code):
    """Returns the code of a language in Argos Translate."""
    return CODES.get(code, code)


def package_name(languages):
    """Returns the name of a package, such as "translate-en_de-1_0".

    Args:
        languages: the codes of source and target in Argos Translate.
    """
    return f"translate-{languages[0]}_{languages[1]}-{PACKAGE_VERSION.replace('.', '_')}"


def save_argos(path, model, sentencepiece, languages, names, weights, dtype):
    """Writes a package.

    Args:
        path: path of the file.
        model: path of a folder of CTranslate2.
        sentencepiece: a serialized SentencePiece model.
        languages, names: the codes of source and target in Argos Translate, and their names.
        weights: number of weights.
        dtype: type of the stored weights.
    """
    name = package_name(languages)
    metadata = {
        **{"package_version": PACKAGE_VERSION, "argos_version": ARGOS_VERSION},
        **{"from_code": languages[0], "from_name": names[0]},
        **{"to_code": languages[1], "to_name": names[1], "type": "translate"},
    }
    readme = README.format(name=name, weights=weights, dtype=dtype, **metadata)
    with zipfile.ZipFile(path, "w") as archive:
        for part, contents in (
            ("metadata.json", json.dumps(metadata, indent=4).encode()),
            ("README.md", readme.encode()),
            (SENTENCEPIECE, sentencepiece),
        ):
            archive.writestr(entry(f"{name}/{part}", len(contents)), contents)
        for file in sorted(each for each in model.rglob("*") if each.is_file()):
            part = file.relative_to(model).as_posix()
            info = entry(f"{name}/{MODEL}/{part}", file.stat().st_size)
            with open(file, "rb") as source, archive.open(info, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def entry(name, size):
    """Returns the description of a file in the package."""
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, size
    info.external_attr = 0o100644 << 16
    return info
