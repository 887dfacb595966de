"""t2t-export: exports the trained model of a run, for serving or for other programs.

t2t-export runs/ende                       a SavedModel, text in and text out: runs/ende/export/1
t2t-export runs/ende --dtype=int8          the next version, in a quarter of the size
t2t-export runs/ende --format=ids          ids in and out; does not need tensorflow_text
t2t-export runs/ende --format=litert       a model for LiteRT, the fastest on CPUs
t2t-export runs/ende --format=portable     the whole search, for phones and other languages
t2t-export runs/ende --format=ctranslate2  a model for CTranslate2
t2t-export runs/ende --format=argos        a package for Argos Translate, in int8
t2t-export runs/ende --format=keras        one .keras file for keras.saving.load_model
t2t-export runs/ende --format=hub --license=cc-by-4.0  a folder for the Hugging Face Hub
t2t-export runs/ende --beam=1 --output=served/ende

Most formats are folders with numbered versions. A version appears only when it is complete, so a
server that watches the folder never loads a partial one. The search is fixed at export by --beam,
--alpha, --extra_length, --banned, --first, --no_repeat_ngram and --constrain. A SavedModel cannot
sample.
"""

import shlex
import sys
from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.flags.shared_flags import not_with, opened_run, refuse_unused, shared_flags
from t2t_keras.cli.main import positional
from t2t_keras.cli.text_files.output_files import check_output_folder
from t2t_keras.export.formats import FORMATS
from t2t_keras.translating.exports import versions_in
from t2t_keras.translating.languages import Languages

TO, WEIGHTS, *_ = shared_flags("to", "weights", "trust", "imports")

OUTPUT = flags.DEFINE_string(
    "output",
    None,
    "Folder to write, or .keras or .argosmodel file. Default: a folder or file inside the run.",
)
FORMAT = flags.DEFINE_enum(
    "format",
    "saved_model",
    tuple(FORMATS),
    f"Output format: {'; '.join(f'{name}: {row.purpose}' for name, row in FORMATS.items())}.",
)
DTYPE = flags.DEFINE_enum(
    "dtype",
    None,
    tuple(dict.fromkeys(dtype for row in FORMATS.values() for dtype in row.dtypes)),
    "Type of the stored weights. Default: float32; int8 for argos, and for the model for LiteRT "
    "with --format=hub.",
)
LICENSE = flags.DEFINE_string(
    "license",
    None,
    "With --format=hub: license for the model card, such as apache-2.0. Default: license of the "
    "imported model that the run is made from.",
)
LANGUAGES = flags.DEFINE_string(
    "languages",
    None,
    "Source and target language, such as en,de, for the record. Default: as the run records them.",
)
RENEW = flags.DEFINE_bool(
    "renew",
    False,
    "Write again, each with its own options, all exports in the run's folder that do not have the "
    "run's present weights or settings.",
)
N_BEST = flags.DEFINE_integer(
    "n_best",
    None,
    "Translations per text in translate_n_best, as served. Default: the beam width.",
    lower_bound=1,
)
# The flags that only some formats obey.
BY_NAME = {flag.name: flag for flag in (DTYPE, TO, LANGUAGES, LICENSE, N_BEST, *SEARCH_FLAGS)}

RENEWED = (OUTPUT, FORMAT, WEIGHTS, *BY_NAME.values())
not_with(RENEW, *RENEWED, why=", which repeats the options of each export")


def main(arguments):
    (folder,) = positional(arguments)
    row, options = FORMATS[FORMAT.value], search_changes()
    if not RENEW.value:
        obeyed = (*row.options, *(["dtype"] if row.dtypes else []))
        unused = [flag for name, flag in BY_NAME.items() if name not in obeyed]
        refuse_unused(unused, f"with --format={FORMAT.value}")
        options |= {flag.name: flag.value for flag in (DTYPE, LICENSE, N_BEST)}
        if LANGUAGES.present:
            options["languages"] = Languages.parse(LANGUAGES.value)
        output = Path(OUTPUT.value or folder)
        check_output_folder(output.parent if FORMAT.value in ("keras", "argos") else output)
    trained = opened_run(folder)
    if RENEW.value:
        trained.renew_exports(print)
        return
    if FORMAT.value == "hub":
        print("Exporting for LiteRT, which takes longest", file=sys.stderr)
    path = trained.export(OUTPUT.value, FORMAT.value, WEIGHTS.value, **options)
    print(path)
    if FORMAT.value == "hub":
        for line in advice(path):
            print(line)


def advice(folder):
    """Yields lines about what to do with a folder for the Hugging Face Hub."""
    from t2t_keras.runs.config_file import read_config
    from t2t_keras.runs.exports.model_card import hub_name

    contents = read_config(folder / "config.json")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    yield f"{size / 1e6:,.1f} MB. Read {folder / 'README.md'}, and complete it, before you publish"
    if names := contents.get("imports"):
        yield f"It contains your Python code, which users must trust: imports/{', '.join(names)}"
    if contents["license"] is None:
        yield "It states no license: --license=NAME adds one"
    if not contents.get("languages"):
        yield "It states no languages: --languages=SOURCE,TARGET adds them"
    if not versions_in(folder / "export_litert"):
        yield "It has no model for LiteRT, which lacks operations of this one"
    name = hub_name(folder.resolve().name)
    yield f"Publish it: hf upload ORG/{name} {shlex.quote(str(folder))} ."
