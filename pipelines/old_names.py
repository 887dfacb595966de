"""Names from earlier versions and the names that replaced them. Old names still work.

All old names are listed here: command flags and arguments, settings (in configs, on command lines
and in recorded files), shipped configs, and modules.
"""

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys

# {command: {old flag: current flag}}
COMMAND_FLAGS = {
    "t2t-serve": {
        "batch": "max_batch_rows",
        "wait": "batch_wait_ms",
        "queue": "max_rows_in_flight",
        "body": "max_body_bytes",
        "line": "max_text_bytes",
        "attention_line": "max_attention_text_bytes",
        "row": "max_row_values",
        "memory": "max_memory_mb",
        "connections": "max_connections",
        "patience": "client_timeout_seconds",
        "grace": "grace_seconds",
    },
}
# {old table of t2t-reproduce: current table}
TABLES = {"arguments": "claims"}
# {old setting of an experiment: current setting}
SETTINGS = {
    "training.best": "training.best_metric",
    "data.temperature": "data.corpus_temperature",
    "data.batches.multiple": "data.batches.row_multiple",
    "data.encodings.number": "data.encodings.per_sentence",
}
CONFIGS = {"arguments": "claims"}
MODULES = {
    "pipelines.batch_plan": "pipelines.batches.batch_plan",
    "pipelines.beam_prepare": "pipelines.preparation.prepare_on_apache_beam",
    "pipelines.bpe_dropout": "pipelines.tokenizers.bpe_dropout",
    "pipelines.byte_pairs": "pipelines.tokenizers.byte_pairs",
    "pipelines.cleaned_text": "pipelines.text.cleaned_text",
    "pipelines.cleaning": "pipelines.text.cleaning",
    "pipelines.corpora": "pipelines.batches.corpora",
    "pipelines.dataset": "pipelines.batches.dataset",
    "pipelines.dropout_encoding": "pipelines.batches.dropout_encoding",
    "pipelines.encodings": "pipelines.batches.encodings",
    "pipelines.file_lists": "pipelines.text.file_lists",
    "pipelines.glossary": "pipelines.glossaries.glossary",
    "pipelines.graph_encoding": "pipelines.preparation.graph_encoding",
    "pipelines.graph_subwords": "pipelines.tokenizers.graph_subwords",
    "pipelines.graph_tokenizers": "pipelines.tokenizers.graph_tokenizers",
    "pipelines.graph_tokens": "pipelines.tokenizers.graph_tokens",
    "pipelines.held_out_files": "pipelines.text.held_out_files",
    "pipelines.html_elements": "pipelines.markup.html_elements",
    "pipelines.id_store": "pipelines.batches.id_store",
    "pipelines.mapped_sentencepiece": "pipelines.tokenizers.mapped_sentencepiece",
    "pipelines.markup_tokens": "pipelines.markup.markup_tokens",
    "pipelines.mix": "pipelines.batches.mix",
    "pipelines.mixed_treebank": "pipelines.text.mixed_treebank",
    "pipelines.normalization": "pipelines.text.normalization",
    "pipelines.opened_text": "pipelines.text.opened_text",
    "pipelines.placeholders": "pipelines.markup.placeholders",
    "pipelines.prepare": "pipelines.preparation.prepare",
    "pipelines.prepare_warnings": "pipelines.preparation.prepare_warnings",
    "pipelines.report": "pipelines.preparation.report",
    "pipelines.sentences": "pipelines.text.sentences",
    "pipelines.sources": "pipelines.text.sources",
    "pipelines.subwords": "pipelines.tokenizers.tensor2tensor_subwords",
    "pipelines.tags": "pipelines.tokenizers.tags",
    "pipelines.tfds_source": "pipelines.text.tfds_source",
    "pipelines.tokenizer_base": "pipelines.tokenizers.tokenizer_base",
    "pipelines.tokens": "pipelines.tokenizers.separated_tokens",
    "pipelines.toy_clause": "pipelines.toy.clause",
    "pipelines.toy_documents": "pipelines.toy.documents",
    "pipelines.toy_grammar": "pipelines.toy.grammar",
    "pipelines.toy_links": "pipelines.toy.links",
    "pipelines.toy_words": "pipelines.toy.words",
    "pipelines.treebank": "pipelines.text.treebank",
    "pipelines.vocabulary": "pipelines.tokenizers.vocabulary",
    "pipelines.word_piece_learner": "pipelines.tokenizers.word_piece_learner",
    "pipelines.word_pieces": "pipelines.tokenizers.word_pieces",
}


def renamed_settings(part):
    """Returns {old field: current field} for a group of settings, such as "data.batches"."""
    inside = {old: new for old, new in SETTINGS.items() if old.rpartition(".")[0] == part}
    return {old.rpartition(".")[2]: new.rpartition(".")[2] for old, new in inside.items()}


def with_current_names(settings, part):
    """Returns the recorded settings of a group with their current names."""
    names = renamed_settings(part)
    return {names.get(name, name): value for name, value in settings.items()}


def accepts_old_names(part):
    """Returns a class decorator: fields of a dataclass can also be set and read by old names.

    Args:
        part: the group of the dataclass in the settings of an experiment, such as "data.batches".
    """

    def decorated(cls):
        make, names = cls.__init__, renamed_settings(part)

        @functools.wraps(make)
        def init(self, *values, **fields):
            # `dataclasses.replace` adds the current names, with the values to be replaced.
            renamed = {old: new for old, new in names.items() if old in fields}
            fields |= {new: fields.pop(old) for old, new in renamed.items()}
            make(self, *values, **fields)

        def restore(self, state):  # of an object that an earlier version pickled
            self.__dict__.update(with_current_names(state, part))

        cls.__setstate__ = restore
        cls.__init__ = init
        for old, new in names.items():
            setattr(cls, old, alias_of(new))
        return cls

    return decorated


def alias_of(name):
    """Returns a property that is an alias of the attribute `name`."""
    return property(
        lambda settings: getattr(settings, name),
        lambda settings, value: setattr(settings, name, value),
    )


def current_flags(command, arguments):
    """Returns a command's arguments with current flag names, and a note for each renamed flag."""
    result, notes = [], []
    arguments = iter(arguments)
    for argument in arguments:
        if argument == "--":
            result += [argument, *arguments]
            break
        flag, equals, value = argument.partition("=")
        name = flag.lstrip("-")
        dashes = flag[: len(flag) - len(name)]
        current = current_flag(command, name) if dashes else name
        if current != name:
            notes.append(f"{flag} is now called {dashes}{current}")
        result.append(f"{dashes}{current}{equals}{value}")
    return result, notes


def current_flag(command, name):
    """Returns the current name of a flag or of a `config.` override, without dashes."""
    if name.startswith("config."):
        setting = name.removeprefix("config.")
        return f"config.{SETTINGS.get(setting, setting)}"
    return COMMAND_FLAGS.get(command, {}).get(name, name)


def current_arguments(arguments):
    """Returns recorded arguments of a command with the current names of settings and configs."""
    result = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if flag == "--config":
            value = CONFIGS.get(value, value)
        if flag.startswith("--"):
            argument = f"--{current_flag('', flag[2:])}{equals}{value}"
        result.append(argument)
    return result


class OldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by their old names. Both names import the same module object."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in MODULES else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        sys.modules[module.__name__] = importlib.import_module(MODULES[module.__name__])
