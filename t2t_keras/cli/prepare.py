"""t2t-prepare: cleans parallel text, learns sub-words, encodes the text and prints a report.

t2t-prepare --source=train.en --target=train.de --output=data/ende
t2t-prepare --source='news.*.en.gz,web.en' --target='news.*.de.gz,web.de' --output=data/ende
t2t-prepare --pairs=train.tsv --output=data/ende
t2t-prepare --tfds=wmt14_translate/de-en --languages=en,de --output=data/ende
t2t-prepare --config=parsing --treebank='wsj/*.mrg' --output=data/wsj
t2t-prepare --config=documents --toy_documents=20000 --words=1500 --output=data/documents

The settings come from --config (default: base). Flags override them, for example:

    --config.data.vocabulary.size=16000
    --config.data.vocabulary.kind=word_pieces
    --config.data.cleaning.max_ratio=0
    --config.data.encodings.per_sentence=8
    --config.data.encodings.bpe_dropout=0.1

--strict adds the cleaning rules for text from the web, such as language identification; --rules
turns on rules of a plug-in file. Without --target, --source=NAME:ARGUMENT is a source of one.

Batch settings take effect in t2t-train; here they change only the report. Run the same command to
resume an interrupted preparation. After a finished one, it only prints the report again.
"""

import functools
import shutil
import sys
import tempfile

from absl import flags

from pipelines.languages.language_codes import normalized
from pipelines.preparation.source_table import SOURCES, own_source
from pipelines.text import cleaning_rules
from pipelines.text.cleaning_rules import STRICT, CleaningConfig
from pipelines.text.treebank import LEAVES as LEAF_KINDS
from t2t_keras.cli.flags.config_flag import CONFIG, LOADED, config_loader, refuse_config
from t2t_keras.cli.flags.shared_flags import define_list, named_files, not_with, only_with
from t2t_keras.cli.main import positional, show_messages, will_resume
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.plugins import load_plugins

LOAD_CONFIG = config_loader("base")

SOURCE = flags.DEFINE_string(
    "source",
    None,
    "Source text: a file, a glob, or a comma-separated list of files. Without --target: "
    "NAME:ARGUMENT, a source of pairs in a plug-in file.",
)
TARGET = flags.DEFINE_string(
    "target", None, "Target text: files with the translation of --source, line by line."
)
PAIRS = flags.DEFINE_string(
    "pairs", None, "File of pairs: source, tab, target. - reads standard input."
)
TFDS = flags.DEFINE_string(
    "tfds", None, "Name of a TensorFlow Datasets data set, or the folder of a prepared one."
)
LANGUAGES = define_list(
    "languages",
    None,
    "Codes of source and target language, such as en,de, for the record; with --tfds, the features "
    "of the data set. Default: as the files are named, such as train.en and train.de.",
)
SPLIT = flags.DEFINE_string(
    "split", "train", "Split of the --tfds data set or, train or test, of --toy_documents."
)
DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "Folder of prepared TensorFlow Datasets. Default: ~/tensorflow_datasets."
)
TREEBANK = flags.DEFINE_string(
    "treebank", None, "Files of bracketed trees, converted to pairs of words and brackets."
)
LEAVES = flags.DEFINE_enum(
    "leaves", "XX", LEAF_KINDS, "Symbol for each word among the brackets of --treebank."
)
TOY_DOCUMENTS = flags.DEFINE_integer(
    "toy_documents", None, "Number of documents of the toy grammar.", lower_bound=1
)
WORDS = flags.DEFINE_integer(
    "words", 1500, "Length of the longest of the --toy_documents, in words.", lower_bound=1
)
SHORTEST = flags.DEFINE_integer(
    "shortest", 20, "Length of the shortest of the --toy_documents, in words.", lower_bound=1
)
STRICT_RULES = flags.DEFINE_bool(
    "strict",
    False,
    "Add the cleaning rules for noisy text, except those that --config.data.cleaning.RULE=VALUE "
    "sets. Needs pip install 't2t-keras[identify]'.",
)
RULES = define_list(
    "rules",
    None,
    "Cleaning rules of a plug-in file to turn on, each NAME or NAME=VALUE, separated by commas.",
)
SCORES = flags.DEFINE_string(
    "scores",
    None,
    "File of scores, one line per pair, as t2t-score --reverse writes it; larger is better. Needs "
    "--best or --min_score.",
)
BEST = flags.DEFINE_float(
    "best", None, "Share of the pairs to keep, those with the highest --scores, such as 0.8."
)
MIN_SCORE = flags.DEFINE_float("min_score", None, "Minimum score of a pair in --scores.")
COLUMN = define_list(
    "column",
    [],
    "Values beside the pairs, NAME=FILE, line by line: weights, a number for each pair; "
    "alignments, links of words such as 0-0 1-2; or a column of a plug-in file.",
)
OUTPUT = flags.DEFINE_string("output", None, "Output folder, new or to resume. Required.")
BEAM = flags.DEFINE_bool(
    "beam", False, "Run as an Apache Beam pipeline; needs pip install 't2t-keras[beam]'."
)
BEAM_OPTIONS = define_list(
    "beam_options", [], "Comma-separated pipeline options for --beam, such as --runner=NAME."
)
VOCABULARY = flags.DEFINE_string(
    "vocabulary", None, "Folder of an existing vocabulary to use. Default: learn a new one."
)
TAG = flags.DEFINE_string(
    "tag",
    None,
    "Tag before every source, such as <2de>, so that one model translates into several languages. "
    "A learned vocabulary reserves it; --vocabulary must have it.",
)

only_with([TFDS], DATA_DIR)
only_with([TFDS, TOY_DOCUMENTS], SPLIT)
only_with([TOY_DOCUMENTS], WORDS, SHORTEST)
not_with(TOY_DOCUMENTS, LANGUAGES)
not_with(TREEBANK, LANGUAGES)
only_with([TREEBANK], LEAVES)
only_with([SOURCE, PAIRS, TFDS], STRICT_RULES)
only_with([SOURCE, PAIRS], SCORES, COLUMN)
only_with([SCORES], BEST, MIN_SCORE)
only_with([BEAM], BEAM_OPTIONS)


# The flag of each source of text, and the flags of its other arguments.
SOURCE_FLAGS = (
    (PAIRS, ()),
    (TFDS, (LANGUAGES, SPLIT, DATA_DIR)),
    (TREEBANK, (LEAVES,)),
    (TOY_DOCUMENTS, (WORDS, SHORTEST, SPLIT)),
)


def main(arguments):
    positional(arguments, 0, "flags only")
    show_messages()
    if not OUTPUT.value:
        raise ValueError("--output=FOLDER is required: the folder for the prepared data")
    config = CONFIG.value.data
    if RULES.value is not None:
        config.cleaning.rules = tuple(RULES.value)
    CONFIG.value.validate()
    check_source()
    check_settings()
    languages = given_languages()
    if STRICT_RULES.value:
        add_strict_rules(config.cleaning)
    load_backend()
    from pipelines.preparation.prepare import prepare
    from pipelines.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(VOCABULARY.value) if VOCABULARY.value else None
    with tempfile.TemporaryDirectory() as folder:
        source = find_source(folder)
        if hasattr(source, "symbols") and tokenizer is None:
            symbols = [*config.vocabulary.symbols, *source.symbols()]
            config.vocabulary.symbols = tuple(dict.fromkeys(symbols))
        will_resume()
        plugins = used_plugins()
        steps = {}
        if BEAM.value:
            from pipelines.preparation.prepare_on_apache_beam import OnApacheBeam

            load = functools.partial(load_plugins, [str(plugin.path) for plugin in plugins])
            steps = {"steps": OnApacheBeam(BEAM_OPTIONS.value, load)}
        prepare(
            *(source, OUTPUT.value, config, tokenizer, TAG.value, languages),
            {plugin.path.name: plugin.sha256 for plugin in plugins},
            **steps,
        )
    with open(f"{OUTPUT.value}/report.txt", encoding="utf-8") as report:
        shutil.copyfileobj(report, sys.stdout)


def used_plugins():
    """Returns the `Plugin`s whose rules or source are used: the data depends on them."""
    name, colon, _ = (SOURCE.value or "").partition(":")
    sources = [name] if colon and not TARGET.value else []
    rules = CONFIG.value.data.cleaning.own_settings()
    from pipelines.text.columns import COLUMNS  # loads NumPy

    columns = COLUMNS.plugins(named_files(COLUMN))
    used = [*cleaning_rules.RULES.plugins(rules), *SOURCES.plugins(sources), *columns]
    return [*dict.fromkeys(used)]


def add_strict_rules(cleaning):
    """Sets the cleaning rules for noisy text, except those that are set or overridden."""
    defaults = CleaningConfig()
    for name, value in STRICT.items():
        is_default = getattr(cleaning, name) == getattr(defaults, name)
        if is_default and f"data.cleaning.{name}" not in LOADED.overrides:
            setattr(cleaning, name, value)


def given_languages():
    """Returns the codes of --languages, or None. The features of --tfds may have other names."""
    if not LANGUAGES.value or TFDS.value:
        return None
    try:
        source, target = map(normalized, LANGUAGES.value)
    except ValueError as error:
        raise ValueError(
            f"--languages: give the codes of source and target, such as en,de ({error})"
        ) from error
    return source, target


def check_source():
    """Rejects flags that name no source of text, or more than one."""
    given = [bool(flag.value) for flag, _ in SOURCE_FLAGS]
    given.append(bool(SOURCE.value or TARGET.value))
    both = TARGET.value or ":" in (SOURCE.value or "")
    if sum(given) != 1 or bool(SOURCE.value) != bool(both):
        raise ValueError(
            "Give the text in one way: --source=FILE and --target=FILE, or --pairs=FILE, or "
            "--tfds=NAME, or --treebank=FILE, or --toy_documents=COUNT"
        )


def check_settings():
    """Rejects settings that have no effect, and scores without a rule."""
    if VOCABULARY.value:
        refuse_config("with --vocabulary", "data.vocabulary.")
    if RULES.value is not None:
        refuse_config("with --rules", "data.cleaning.rules")
    refuse_config("on prepared data; it is for t2t-train", "model.", "training.", "search.")
    if SCORES.value and (BEST.value is None) == (MIN_SCORE.value is None):
        raise ValueError("--scores needs either --best or --min_score: which pairs to keep")


def find_source(folder):
    """Returns the source of text. Copies standard input to `folder`: it is read more than once."""
    from pipelines.text.columns import ColumnedPairs
    from pipelines.text.sources import ScoredPairs, TextFiles

    if TARGET.value:
        source = TextFiles(SOURCE.value, TARGET.value)
    elif SOURCE.value:
        source = own_source(SOURCE.value)
    elif PAIRS.value == "-":
        with open(f"{folder}/standard input", "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        source = SOURCES["pairs"](copy.name, name="standard input")
    else:
        flag, others = next(each for each in SOURCE_FLAGS if each[0].value)
        options = {each.name: each.value for each in others}
        source = SOURCES[flag.name](flag.value, **options)
    if SCORES.value:
        source = ScoredPairs(source, SCORES.value, MIN_SCORE.value, BEST.value)
    return ColumnedPairs(source, columns) if (columns := named_files(COLUMN)) else source
