"""--help and --version.

--help prints the docstring of a command's file, with its examples, and then the flags of all files
that it imports, except for those of libraries.
"""

import importlib.metadata
import inspect
import platform
import re
import shutil
import sys
import textwrap

from absl import flags

WIDEST = 100  # columns; longer lines of prose are hard to read
NARROWEST = 40
LEFT = 28  # column where the descriptions of flags begin
EXAMPLES = re.compile(r"(t2t-\w+|curl|paste)( |$)", re.M)  # start of a block of examples
# Flags of libraries that make sense here.
COMMON = (
    ("-h, --help", "Show this text."),
    ("--version", "Show the versions of t2t_keras and of the libraries that compute."),
    ("--verbosity=N", "Show more messages: 0 adds our own, 1 also libraries'. Default: -1."),
    ("--flagfile=FILE", "Read further flags from a file, one per line."),
)


class Answer(flags.BooleanFlag):
    """A flag that prints the text that a function returns, and ends the command."""

    def __init__(self, name, short_name, purpose, text):
        super().__init__(name, False, purpose, short_name=short_name)
        self.text = text

    def parse(self, argument):
        if self._parse(argument):
            print(self.text())
            sys.exit()


def define_answers(docstring):
    """Defines --help and --version, in place of absl's flags for help."""
    for name in ("help", "helpshort", "helpfull", "helpxml", "only_check_flags"):
        delattr(flags.FLAGS, name)
    flags.DEFINE_flag(Answer("help", "h", "Show help.", lambda: help_text(docstring)))
    flags.DEFINE_flag(Answer("version", None, "Show versions.", version_text))


def version_text():
    """Returns a line with versions. It loads none of the packages."""
    python = platform.python_version()
    libraries = f"TensorFlow {version_of('tensorflow')}, Keras {version_of('keras')}"
    return f"t2t_keras {version_of('t2t-keras')} ({libraries}, Python {python})"


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def help_text(docstring, width=None):
    """Returns the text of --help for the command whose flags are defined."""
    width = width or text_width()
    lines = [*docstring_lines(docstring, width)]
    defined = {flag.name: flag for flag in command_flags()}
    search = getattr(sys.modules.get("t2t_keras.cli.flags.search_flags"), "SEARCH_FLAGS", ())
    search = [defined.pop(flag.name) for flag in search]
    groups = {"Flags:": [defined[name] for name in sorted(defined)], "Flags of the search:": search}
    for title, members in groups.items():
        rows = [(usage_of(flag), description_of(flag)) for flag in members]
        lines += ["", title, *table(rows, width)] if rows else []
    lines += ["", "Flags of all commands:", *table(COMMON, width)]
    return "\n".join(lines)


def text_width():
    """Returns the columns of the terminal, or 80, within the limits for prose."""
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def command_flags():
    """Returns the flags of the command, which are those that files of this package define."""
    modules = flags.FLAGS.flags_by_module_dict().items()
    ours = [each for name, each in modules if name.startswith("t2t_keras.")]
    return [flag for each in ours for flag in each if not isinstance(flag, Answer)]


def docstring_lines(docstring, width):
    """Yields the lines of a docstring, whose paragraphs are fitted to a width."""
    title = ["Examples:"]
    for index, block in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(docstring or ""))):
        yield from [""] if index else []
        if EXAMPLES.match(block):
            yield from [*title, *textwrap.indent(block, "  ").splitlines()]
            title = []
        else:
            is_indented = block.startswith(" ")
            yield from block.splitlines() if is_indented else textwrap.wrap(block, width)


def table(rows, width):
    """Yields the lines of a table with two columns, names and descriptions."""
    for name, description in rows:
        lines = textwrap.wrap(description, max(width - LEFT, 20), break_on_hyphens=False)
        first = f"  {name}"
        if len(first) + 2 > LEFT:
            yield first
            first = ""
        yield f"{first:<{LEFT}}{lines[0]}"
        yield from (" " * LEFT + line for line in lines[1:])


def usage_of(flag):
    """Returns a flag as it is given: "--beam=N", "--engine=NAME", "--json", "--[no]export"."""
    if flag.boolean:
        return f"--{'' if flag.default is False else '[no]'}{flag.name}"
    value = {"int": "N", "float": "NUMBER"}.get(flag.flag_type()) or path_of(flag) or "VALUE"
    if "list" in flag.flag_type():
        value = "A,B,…"
    if choices_of(flag) or flag.name == "config":
        value = "NAME"
    return f"--{flag.name}={value}"


def path_of(flag):
    """Returns "FILE" or "FOLDER" if the value of a flag is one, or a list of them; else None.

    The help of a flag begins with the noun for its value, so the first such word decides.
    """
    if flag.flag_type() in ("int", "float", "bool"):
        return None
    first, _, _ = purpose_of(flag).partition(". ")
    found = re.search(r"\b(?:(files?)|folders?|runs?)\b", first, re.I)
    return found and ("FILE" if found[1] else "FOLDER")


def purpose_of(flag):
    """Returns the help of a flag without what absl adds to it."""
    added = r"^<.*?>: |;\s+repeat this option.*|\s+\(a comma separated list\)$"
    return " ".join(re.sub(added, "", flag.help, flags=re.S).split())


def choices_of(flag):
    """Returns the allowed values of a flag, without the empty one. [] if there is no list."""
    return [choice for choice in getattr(flag.parser, "enum_values", ()) if choice]


def default_of(flag):
    """Returns the default of a flag as it would be given, or ""."""
    text = re.sub(r"^'([^']*)'$", r"\1", flag.default_as_str or "")
    return "" if text == "None" else text


def description_of(flag):
    """Returns the help of a flag with its choices and its default."""
    text, found, default = purpose_of(flag).partition("Default: ")
    sentences = [text.rstrip()]
    if choices := choices_of(flag):
        sentences.append(f"One of: {', '.join(choices)}.")
    if found:
        sentences.append(found + default)
    elif default_of(flag) and flag.default is not False:
        sentences.append(f"Default: {default_of(flag)}.")
    return " ".join(sentences)
