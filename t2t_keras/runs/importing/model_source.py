"""The model that t2t-import is given: a folder, or a model of the Hugging Face Hub.

Importable without TensorFlow and Keras, so that a download begins at once.
"""

import contextlib
import itertools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from pipelines.languages.language_codes import language_name, normalized
from t2t_keras.checks import check_choice
from t2t_keras.importing import hub
from t2t_keras.importing.formats import FORMATS, check_options
from t2t_keras.translating.languages import Languages, languages_in_name, languages_of

NOT_STATED = "not stated; ask the authors before you use the model"


class ModelSource(NamedTuple):
    folder: Path
    format: str | None = None  # None: to be recognized from the files
    languages: Languages | None = None  # None: unknown
    origin: dict | None = None  # where it was downloaded from, as config.json records it
    files: tuple | None = None  # the files that belong to it. None: all in the folder


def check_new(folder):
    """Rejects a folder with files. Its `Path` becomes the path of the new run."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / "config.json").exists():
        kind = "" if folder.is_dir() else " and is a file"
        raise ValueError(f"{folder} exists already{kind}. Give the name of a new folder")
    name = shlex.quote(str(folder))
    raise ValueError(
        f"{folder} exists already, with the config.json of a complete run. Use it (t2t-export "
        f"{name} --format=litert exports it for CPUs), or give the name of a new folder"
    )


def find_model(model, format=None, languages=None, show=print, **options):
    """Returns the `ModelSource` of a model, which is downloaded if it is on the Hugging Face Hub.

    For the arguments, see `import_run`. Wrong options are refused before the download.
    """
    text = str(model)
    is_path = not text.startswith(hub.PREFIX)
    if format is not None:
        on_hub = [name for name, row in FORMATS.items() if row.weights]
        check_choice("format", format, FORMATS if is_path else on_hub)
    if is_path:
        name = re.sub(r"^(https?://)?(www\.)?(huggingface\.co|hf\.co)/", "", text).removesuffix("/")
        if hub.ADDRESS.fullmatch(name) and not Path(text).exists():
            raise ValueError(
                f"{text} is not a folder. If you mean the model of the Hugging Face Hub, give "
                f"hf:{name}"
            )
        return ModelSource(Path(text), format, languages)

    found = hub.find(text, format)
    if options and found.format == hub.RUN:
        raise ValueError(f"--{min(options)} is not for runs of this package. Leave it out")
    if options:
        check_options(found.format, options)
    license, size = license_of(found.card), sum(found.files.values())
    recorded = languages_of(found.folder) if found.format == hub.RUN else None
    languages = languages or recorded or direction(found.name, codes_in(found.card))
    show(f"hf:{found.name}, revision {found.revision}: license {license or NOT_STATED}")
    show(languages_line(languages, found.card))
    show(f"{len(found.files)} files are needed, {size / 1e6:,.1f} MB")
    hub.fetch(found)
    origin = {"hub": found.name, "revision": found.revision, "license": license, "size": size}
    return ModelSource(found.folder, found.format, languages, origin, tuple(found.files))


def license_of(card):
    """Returns the license in the metadata of a model card, such as "apache-2.0", or None."""
    value = card.get("license")
    value = value[0] if isinstance(value, list) and value else value
    name = card.get("license_name")
    if value == "other" and isinstance(name, str):
        value = name
    return value if isinstance(value, str) and re.fullmatch(r"[\w.+-]{1,80}", value) else None


def codes_in(card):
    """Returns the codes of the languages in the metadata of a model card."""
    values = card.get("language")
    values = values if isinstance(values, list) else [values]
    codes = []
    for value in values:
        with contextlib.suppress(ValueError):  # "multilingual", or YAML's false for Norwegian, no
            codes.append(normalized(value))
    return list(dict.fromkeys(codes))


def direction(repository, codes):
    """Returns the `Languages` of a model of the Hub, or None if they are unknown.

    A name such as opus-mt-en-de tells them. Another name counts if it has the two languages of the
    model card, one after the other. The card alone does not tell the direction.
    """
    name = repository.partition("/")[2]
    plain = {code.partition("-")[0] for code in codes}
    pairs = itertools.pairwise(re.split("[-_.]", name.lower()))
    named = [Languages(*pair) for pair in pairs if len(plain) == 2 and set(pair) == plain]
    return languages_in_name(name) or (named[-1] if named else None)


def languages_line(languages, card):
    """Returns a line about the `Languages` of a model of the Hub, which may be None."""
    if languages:
        return "languages: {} to {}".format(*languages.names)
    codes = codes_in(card)
    names = ", ".join(map(language_name, codes[:20])) + (", …" if len(codes) > 20 else "")
    return (
        f"languages: {names or 'not stated'}, without a direction. "
        "--languages=SOURCE,TARGET records it"
    )
