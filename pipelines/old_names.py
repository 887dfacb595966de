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
    "pipelines.bpe_dropout": "pipelines.tokenizers.bpe_dropout",
    "pipelines.byte_pairs": "pipelines.tokenizers.byte_pairs",
    "pipelines.cleaned_text": "pipelines.text.cleaned_text",
    "pipelines.cleaning": "pipelines.text.cleaning",
    "pipelines.corpora": "pipelines.batches.corpora",
    "pipelines.dataset": "pipelines.batches.dataset",
    "pipelines.encodings": "pipelines.batches.encodings",
    "pipelines.glossary": "pipelines.text.glossary",
    "pipelines.held_out_files": "pipelines.text.held_out_files",
    "pipelines.id_store": "pipelines.batches.id_store",
    "pipelines.mix": "pipelines.batches.mix",
    "pipelines.normalization": "pipelines.text.normalization",
    "pipelines.prepare": "pipelines.preparation.prepare",
    "pipelines.sentences": "pipelines.text.sentences",
    "pipelines.sources": "pipelines.text.sources",
    "pipelines.tags": "pipelines.tokenizers.tags",
    "pipelines.tfds_source": "pipelines.text.tfds_source",
    "pipelines.toy_documents": "pipelines.toy.documents",
    "pipelines.toy_grammar": "pipelines.toy.grammar",
    "pipelines.treebank": "pipelines.text.treebank",
    "pipelines.vocabulary": "pipelines.tokenizers.vocabulary",
    "pipelines.whole": "pipelines.atomic_files",
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
        make = cls.__init__

        @functools.wraps(make)
        def init(self, *values, **fields):
            for old, new in renamed_settings(part).items():
                if old in fields and new in fields:
                    raise TypeError(f"{old!r} is now called {new!r}: give only one of them")
            make(self, *values, **with_current_names(fields, part))

        cls.__init__ = init
        for old, new in renamed_settings(part).items():
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


class OldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by their old names. Both names import the same module object."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in MODULES else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        sys.modules[module.__name__] = importlib.import_module(MODULES[module.__name__])
