"""t2t-prepare: from parallel text to encoded data: clean, learn sub-words, encode, report.

t2t-prepare --source=train.en --target=train.de --output=data/ende
t2t-prepare --source='news.*.en.gz,web.en' --target='news.*.de.gz,web.de' --output=data/ende
t2t-prepare --pairs=train.tsv --output=data/ende
t2t-prepare --tfds=wmt14_translate/de-en --languages=en,de --output=data/ende
t2t-prepare --config=parsing --treebank='wsj/*.mrg' --output=data/wsj

Settings are those of --config (base if none is given), for example
    --config.data.vocabulary.size=16000     --config.data.vocabulary.kind=word_pieces
    --config.data.cleaning.max_ratio=0
Those of batches belong to t2t-train; here they change only what the report says of them.
Interrupted, the same command goes on; finished, it prints the report again and changes nothing.
"""

import shutil
import sys
import tempfile

from absl import flags

from pipelines.prepare import prepare
from pipelines.sources import TabSeparatedFile, TextFiles
from pipelines.tokenizers import load_tokenizer
from pipelines.treebank import LEAVES as LEAF_KINDS
from pipelines.treebank import TreebankPairs
from t2t_keras.cli.main import CONFIG, run

SOURCE = flags.DEFINE_string("source", None, "Source text: a file, a glob, or several with commas.")
TARGET = flags.DEFINE_string("target", None, "Target text, line by line the source's translation.")
PAIRS = flags.DEFINE_string("pairs", None, "One file of lines: source, tab, target. -: stdin.")
TFDS = flags.DEFINE_string("tfds", None, "A data set of TensorFlow Datasets, or its folder.")
LANGUAGES = flags.DEFINE_list("languages", None, "TFDS: the source's feature and the target's.")
SPLIT = flags.DEFINE_string("split", "train", "TFDS: which part of the data set.")
DATA_DIR = flags.DEFINE_string("data_dir", None, "TFDS: where prepared data sets lie.")
TREEBANK = flags.DEFINE_string("treebank", None, "Bracketed trees: words to their brackets.")
LEAVES = flags.DEFINE_enum("leaves", "XX", LEAF_KINDS, "Treebank: what stands for a word.")
OUTPUT = flags.DEFINE_string("output", None, "The folder to write, or to go on with.")
BEAM = flags.DEFINE_bool("beam", False, "Do the work as an Apache Beam pipeline (extra: beam).")
BEAM_OPTIONS = flags.DEFINE_list("beam_options", [], "Beam's own, for example --runner=NAME.")
VOCABULARY = flags.DEFINE_string("vocabulary", None, "A vocabulary to use instead of a new one.")


def main(arguments):
    if arguments:
        raise ValueError(f"takes flags only. Received: {' '.join(arguments)}")
    if not OUTPUT.value:
        raise ValueError("--output=FOLDER is needed: where to write the prepared data")
    CONFIG.value.validate()
    config = CONFIG.value.data
    tokenizer = load_tokenizer(VOCABULARY.value) if VOCABULARY.value else None
    with tempfile.TemporaryDirectory() as folder:
        source = find_source(folder)
        if TREEBANK.value:
            symbols = [*config.vocabulary.symbols, *source.symbols()]
            config.vocabulary.symbols = tuple(dict.fromkeys(symbols))
        if BEAM.value:
            beam_preparation()(source, OUTPUT.value, config, tokenizer, BEAM_OPTIONS.value)
        else:
            prepare(source, OUTPUT.value, config, tokenizer)
    with open(f"{OUTPUT.value}/report.txt", encoding="utf-8") as report:
        shutil.copyfileobj(report, sys.stdout)


def beam_preparation():
    try:
        from pipelines.beam_prepare import prepare_with_beam
    except ImportError as error:
        raise ValueError(
            f"--beam needs Apache Beam ({error}): pip install 't2t-keras[beam]'"
        ) from error
    return prepare_with_beam


def find_source(folder):
    """The source that the flags name; standard input is kept in `folder`, to be read again."""
    given = [bool(flag.value) for flag in (PAIRS, TFDS, TREEBANK)]
    given.append(bool(SOURCE.value or TARGET.value))
    if sum(given) != 1 or bool(SOURCE.value) != bool(TARGET.value):
        raise ValueError(
            "Say where the text is, in one way: --source=FILE and --target=FILE, or --pairs=FILE, "
            "or --tfds=NAME, or --treebank=FILE"
        )
    if SOURCE.value:
        return TextFiles(SOURCE.value, TARGET.value)
    if TFDS.value:
        from pipelines.tfds_source import TfdsPairs  # takes seconds to load

        return TfdsPairs(TFDS.value, LANGUAGES.value, SPLIT.value, DATA_DIR.value)
    if TREEBANK.value:
        return TreebankPairs(TREEBANK.value, LEAVES.value)
    if PAIRS.value != "-":
        return TabSeparatedFile(PAIRS.value)
    start = sys.stdin.buffer.peek(2)[:2]
    packed = ".gz" if start == b"\x1f\x8b" else ""
    with open(f"{folder}/standard input{packed}", "wb") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
    return TabSeparatedFile(kept.name)


def entry():
    run(main, default_config="base")


if __name__ == "__main__":
    entry()
