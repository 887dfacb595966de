"""Packages of Argos Translate (https://github.com/argosopentech/argos-translate).

A package is a zip file of one folder with metadata.json, a model of CTranslate2 in `model`, one
SentencePiece model for both languages, and README.md. Its bytes depend only on the contents.
"""

import json
import zipfile

SUFFIX = ".argosmodel"
MODEL, SENTENCEPIECE = "model", "sentencepiece.model"
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
    parts = {
        "metadata.json": json.dumps(metadata, indent=4),
        "README.md": README.format(name=name, weights=weights, dtype=dtype, **metadata),
        SENTENCEPIECE: sentencepiece,
    }
    for file in sorted(each for each in model.rglob("*") if each.is_file()):
        parts[f"{MODEL}/{file.relative_to(model).as_posix()}"] = file.read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for part, contents in parts.items():
            info = zipfile.ZipInfo(f"{name}/{part}")
            info.external_attr = 0o100644 << 16
            archive.writestr(info, contents, zipfile.ZIP_DEFLATED)
