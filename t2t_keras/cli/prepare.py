"""t2t-prepare: from parallel text to encoded data: clean, learn sub-words, encode, report.

t2t-prepare --source=train.en --target=train.de --output=data/ende
t2t-prepare --source='news.*.en.gz,web.en' --target='news.*.de.gz,web.de' --output=data/ende
t2t-prepare --pairs=train.tsv --output=data/ende
t2t-prepare --tfds=wmt14_translate/de-en --languages=en,de --output=data/ende

Settings are those of --config (base if none is given), for example
    --config.data.vocabulary.size=16000     --config.data.vocabulary.kind=word_pieces
    --config.data.cleaning.max_ratio=0      --config.data.batches.max_length=100
Interrupted, the same command goes on; finished, it prints the report again and changes nothing.
"""

import shutil
import sys
import tempfile

from absl import flags

from pipelines.prepare import prepare
from pipelines.sources import TabSeparatedFile, TextFiles
from pipelines.tokenizers import load_tokenizer
from t2t_keras.cli.main import CONFIG, run

SOURCE = flags.DEFINE_string("source", None, "Source text: a file, a glob, or several with commas.")
TARGET = flags.DEFINE_string("target", None, "Target text, line by line the source's translation.")
PAIRS = flags.DEFINE_string("pairs", None, "One file of lines: source, tab, target. -: stdin.")
TFDS = flags.DEFINE_string("tfds", None, "A data set of TensorFlow Datasets, or its folder.")
LANGUAGES = flags.DEFINE_list("languages", None, "TFDS: the source's feature and the target's.")
SPLIT = flags.DEFINE_string("split", "train", "TFDS: which part of the data set.")
DATA_DIR = flags.DEFINE_string("data_dir", None, "TFDS: where prepared data sets lie.")
OUTPUT = flags.DEFINE_string("output", None, "The folder to write, or to go on with.")
VOCABULARY = flags.DEFINE_string("vocabulary", None, "A vocabulary to use instead of a new one.")


def main(arguments):
    if arguments:
        raise ValueError(f"takes flags only. Received: {' '.join(arguments)}")
    if not OUTPUT.value:
        raise ValueError("--output=FOLDER is needed: where to write the prepared data")
    CONFIG.value.validate()
    tokenizer = load_tokenizer(VOCABULARY.value) if VOCABULARY.value else None
    with tempfile.TemporaryDirectory() as folder:
        source = find_source(folder)
        prepare(source, OUTPUT.value, CONFIG.value.data, tokenizer)
    with open(f"{OUTPUT.value}/report.txt", encoding="utf-8") as report:
        shutil.copyfileobj(report, sys.stdout)


def find_source(folder):
    """The source that the flags name; standard input is kept in `folder`, to be read again."""
    given = [bool(SOURCE.value or TARGET.value), bool(PAIRS.value), bool(TFDS.value)]
    if sum(given) != 1 or bool(SOURCE.value) != bool(TARGET.value):
        raise ValueError(
            "Say where the text is, in one way: --source=FILE and --target=FILE, or --pairs=FILE, "
            "or --tfds=NAME"
        )
    if SOURCE.value:
        return TextFiles(SOURCE.value, TARGET.value)
    if TFDS.value:
        from pipelines.tfds_source import TfdsPairs  # takes seconds to load

        return TfdsPairs(TFDS.value, LANGUAGES.value, SPLIT.value, DATA_DIR.value)
    if PAIRS.value != "-":
        return TabSeparatedFile(PAIRS.value)
    with open(f"{folder}/standard input", "wb") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
    return TabSeparatedFile(kept.name)


def entry():
    run(main, default_config="base")


if __name__ == "__main__":
    entry()
