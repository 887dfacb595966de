"""t2t-import: makes a run of a model that was trained with another system.

t2t-import opus-mt-en-de --run=runs/ende                       a folder
t2t-import translate-en_de-1_0.argosmodel --run=runs/argos     a package of Argos Translate
t2t-import marian/model.npz --run=runs/marian                  one file, or a zip file
t2t-import hf:Helsinki-NLP/opus-mt-en-de --run=runs/ende       a model of the Hugging Face Hub
t2t-import hf:Helsinki-NLP/opus-mt-en-de@REVISION --run=runs/ende

Models of the Hub need pip install "t2t-keras[hub]". Its cache and the environment variables
HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE and HF_TOKEN apply. After an interruption, the same command
downloads the missing files.

The run can be used like one that t2t-train made: t2t-translate, t2t-score, t2t-evaluate,
t2t-attention, t2t-export and t2t-serve. README.md in t2t_keras/importing lists the formats and the
models that are not imported.
"""

import shlex
import sys
from pathlib import Path

from absl import flags

from pipelines.printable import printable
from t2t_keras.cli.flags.shared_flags import opened_run, shared_flags, trust_given
from t2t_keras.cli.main import positional, will_resume
from t2t_keras.cli.process.backend import load_backend

EXPORT, _ = shared_flags("export", "trust")

RUN = flags.DEFINE_string("run", None, "Folder of the new run.")
FORMAT = flags.DEFINE_string(
    "format", None, "Format of the model, such as ctranslate2. Default: recognized by its files."
)
LANGUAGES = flags.DEFINE_string(
    "languages",
    None,
    "Source and target language, such as en,de. Default: as the model's name or its model card on "
    "the Hugging Face Hub says; of a folder, unknown.",
)
NUM_HEADS = flags.DEFINE_integer(
    "num_heads",
    None,
    "Number of heads of a model of OpenNMT-tf. Default: as its model_description.py says.",
    lower_bound=1,
)
SOURCE_BEGIN = flags.DEFINE_boolean(
    "source_begin",
    None,
    "Whether a model of OpenNMT-tf or CTranslate2 was trained with <s> before the source. Default: "
    "as a folder of CTranslate2 says; no <s> in OpenNMT-tf.",
)
SOURCE_END = flags.DEFINE_boolean(
    "source_end",
    None,
    "Whether a model of OpenNMT-tf or CTranslate2 was trained with an end after the source. "
    "Default: as a folder of CTranslate2 says; no end in OpenNMT-tf.",
)
TARGET_SPACE = flags.DEFINE_integer(
    "target_space",
    None,
    "Kind of text that a model of tensor2tensor writes, by its number there. Default: 0, any text.",
    lower_bound=0,
)


def main(arguments):
    positional(arguments, 1, "one folder or file of another system, or hf:ORG/NAME")
    if not RUN.value:
        raise ValueError("--run: give the folder of the new run")
    from t2t_keras.runs.importing.model_source import check_new, find_model
    from t2t_keras.translating.languages import Languages

    check_new(Path(RUN.value))
    will_resume()
    languages = Languages.parse(LANGUAGES.value) if LANGUAGES.value is not None else None
    flags_of_formats = (NUM_HEADS, SOURCE_BEGIN, SOURCE_END, TARGET_SPACE)
    options = {flag.name: flag.value for flag in flags_of_formats if flag.value is not None}
    source = find_model(arguments[0], FORMAT.value, languages, show, **options)
    trust_given([source.folder])
    load_backend()
    from t2t_keras.runs.importing.import_run import import_run

    result = import_run(source, RUN.value, command=sys.argv, **options)
    for line in lines_about(result):
        print(line)
    if EXPORT.value:
        opened_run(RUN.value).renew_exports(show)
    folder = shlex.quote(str(Path(RUN.value)))
    show(f"{folder} is a run now. Try it: t2t-translate {folder}")


def show(line):
    print(printable(line), flush=True)


def lines_about(result):
    """Yields lines that describe the imported model."""
    model = result.model
    if model is None:
        yield f"a run of this package: {result.weights:,} weights"
        return
    config = model.config
    yield f"{model.system}: {' + '.join(map(str, config.layers))} layers, d_model {config.d_model},"
    norm = "pre" if config.pre_norm else "post"
    yield (
        f"d_ff {config.d_ff}, {config.num_heads} heads, {norm}-norm, {config.activation}; "
        f"{result.weights:,} weights"
    )
    sides = {"source": model.source, "target": model.target}
    if model.source is model.target:
        sides = {"source and target": model.source}
    for name, side in sides.items():
        how = SPLIT[side.kind] if model.own_vocabulary is None else "as in the exported run"
        yield f"{name}: {len(side.pieces):,} pieces, split {how}"
    yield from model.notes


SPLIT = {
    "tokens": "at spaces: split the text as for the model's training",
    "sentencepiece": "by SentencePiece",
    "subwords": "by tensor2tensor's sub-words",
}
