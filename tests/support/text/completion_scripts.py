"""The scripts of t2t-completion, made from the flags of all commands and from all settings.

`reference_pages` writes them. A command is a list of `Word`s: its flags, and its arguments.
"""

import dataclasses
import re
from typing import NamedTuple

from support.processes.in_process import parsed_flags

from t2t_keras.cli.benchmark import SUBJECTS
from t2t_keras.cli.help_text import choices_of, command_flags, path_of, purpose_of
from t2t_keras.cli.settings_text import groups_of, settings_in
from t2t_keras.config_files import shipped_configs
from t2t_keras.experiment import Experiment
from t2t_keras.models import MODELS
from t2t_keras.plugins import TABLES, entries_of

# What the arguments of a command are, if not folders.
ARGUMENTS = {
    "train": "",
    "prepare": "",
    "parameters": "",
    "import": "@file",
    "benchmark": "|".join(SUBJECTS),
    "reproduce": "table1|table2|table3|table4|claims",
    "completion": "bash|zsh",
}
TABLE_OF = {setting: table for table, setting in TABLES.items() if setting}
KINDS = {"FILE": "@file", "FOLDER": "@folder"}


class Word(NamedTuple):
    """A flag or a setting.

    Args:
        name: its name without dashes.
        values: None: it is boolean. Otherwise "one|another", "@file", "@folder", "@config", or ""
            for a value that cannot be completed.
        meaning: its meaning in one sentence.
        is_on: whether it is on by default.
    """

    name: str
    values: str | None
    meaning: str
    is_on: bool = False


def words_of(module):
    """Returns the own flags of a command as `Word`s, given the name of its module."""
    with parsed_flags(module):
        defined = {flag.name: flag for flag in command_flags()}
    words = []
    for name, flag in sorted(defined.items()):
        values = None if flag.boolean else KINDS.get(path_of(flag), "")
        if choices := choices_of(flag):
            values = "|".join(choices)
        elif name == "config":
            values = "@config"
        words.append(Word(name, values, sentence(purpose_of(flag)), flag.default is not False))
    return words


COMMON = (
    Word("help", None, "Show help"),
    Word("version", None, "Show versions"),
    Word("flagfile", "@file", "Read further flags from a file"),
    Word("verbosity", "-1|0|1", "Show more messages"),
)


def settings():
    """Returns all settings of all models as `Word`s."""
    groups = [("model", model.config_class()) for model in MODELS.values()]
    groups += [group for group in groups_of(Experiment()) if group[0] != "model"]
    words = {}
    for group, each in groups:
        choices = {
            field.name: field.metadata.get("choices", ()) for field in dataclasses.fields(each)
        }
        for setting in settings_in(group, each):
            values = [choice for choice in choices[setting.name.rpartition(".")[2]] if choice]
            if isinstance(setting.default, bool):
                values = ["True", "False"]
            elif setting.name in TABLE_OF:
                values = sorted(entries_of(TABLE_OF[setting.name]))
            name = f"config.{setting.name}"
            words.setdefault(name, Word(name, "|".join(values), sentence(setting.meaning)))
    return list(words.values())


def sentence(text):
    """Returns the first sentence of a text, without its full stop."""
    return re.split(r"\.(?: |$)", " ".join(text.split()))[0]


def configs():
    return sorted({*shipped_configs()} - {"settings_of"})


HEAD = """\
# Completes the t2t-* commands in {shell}. t2t-completion prints this script; it is made from the
# code by tests/support/text/reference_pages.py.
"""
BASH = r"""
_t2t_words() {{
  case $1 in
{cases}
  esac
}}

_t2t_settings='
{settings}
'

_t2t() {{
  local IFS=$' \t\n' command=${{1##*/}}
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local flag= start= words each name values=@arguments arguments
  COMPREPLY=()
  _t2t_words "$command" || return
  # bash divides --flag=value at the sign, unless COMP_WORDBREAKS lacks it.
  if [[ $word == = ]]; then
    flag=$before word=
  elif [[ $before == = ]]; then
    flag=${{COMP_WORDS[COMP_CWORD-2]}}
  elif [[ $word == --*=* ]]; then
    flag=${{word%%=*}} start=${{word%%=*}}= word=${{word#*=}}
  elif [[ $before == --* && $word != -* ]]; then
    flag=$before
  fi
  if [[ $flag == --config.* ]]; then words=$_t2t_settings; fi
  if [[ $flag ]]; then
    for each in $words; do
      if [[ $each == "${{flag#--}}="* ]]; then values=${{each#*=}}; fi
    done
  fi
  if [[ $values == @arguments && $word == -* ]]; then
    _t2t_names
    return
  fi
  if [[ $values == @arguments ]]; then values=$arguments; fi
  case $values in
    @file | @config) compopt -o default 2>/dev/null ;;
    @folder) compopt -o dirnames 2>/dev/null ;;
  esac
  if [[ $values == @config ]]; then
    values='{configs}'
    _t2t_files -X '!*.py'
  fi
  if [[ $values != @* ]]; then
    _t2t_add < <(compgen -P "$start" -W "${{values//|/ }}" -- "$word")
  elif [[ $start ]]; then
    _t2t_files
  fi
}}

# Adds each line of the input to the completions. $(compgen …) would split names at spaces.
_t2t_add() {{
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}}

# Adds the files that begin with the word. The arguments are options of compgen.
_t2t_files() {{
  local file plain=${{word//\\/}} home
  if [[ $word == [\"\']* ]]; then return; fi  # inside quotes, readline completes
  while IFS= read -r file; do
    home=
    if [[ $plain == \~*/* ]]; then home=${{file%%/*}}/; fi  # in quotes it would be no folder
    printf -v file %q "${{file#"$home"}}"
    COMPREPLY+=("$start$home$file")
  done < <(compgen -f "$@" -- "$plain")
}}

# Completes the name of a flag or a setting.
_t2t_names() {{
  local names= rest
  if [[ $word == --config.* ]]; then
    for each in $_t2t_settings; do
      each=--${{each%%=*}}= rest=
      if [[ $each == "$word"* ]]; then rest=${{each#"$word"}}; fi
      # One group at a time: --config.data. before --config.data.batches.
      if [[ $rest == *.* ]]; then rest=${{rest%%.*}}.; fi
      if [[ $rest && " $names " != *" $word$rest "* ]]; then names+=" $word$rest"; fi
    done
  else
    for each in $words; do
      name=${{each%%=*}}
      if [[ $each == *=* ]]; then name+==; fi
      names+=" --$name"
      if [[ $name == config= ]]; then names+=" --config."; fi
    done
  fi
  _t2t_add < <(compgen -W "$names" -- "$word")
  if [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *[=.] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}}

complete -F _t2t {commands}
"""
ZSH = """
_t2t_configs() {{
  local -a names=({configs})
  _alternative 'configs:shipped config:compadd -a names' 'files:file:_files -g "*.py"'
}}

_t2t_settings() {{
  local -a settings=(
{settings}
  )
  if [[ $PREFIX != *=* ]]; then
    _describe -o setting settings -S '='
    return
  fi
  local name=${{PREFIX%%=*}}
  compset -P '*='
  case $name in
{values}
    *) _message value ;;
  esac
}}

_t2t() {{
  local -a common=(
{common}
  )
  if [[ $PREFIX == --config.* ]]; then
    _t2t_settings
    return
  fi
  case $service in
{cases}
  esac
}}

_t2t "$@"
"""


def bash_script(modules):
    """Returns the script for bash.

    Args:
        modules: {command without t2t-: name of its module}.
    """
    cases = []
    for command, module in modules.items():
        words = [
            form
            for word in (*words_of(module), *COMMON)
            for form in (names_of(word) if word.values is None else [f"{word.name}={word.values}"])
        ]
        arguments = ARGUMENTS.get(command, "@folder")
        cases.append(
            f"    t2t-{command})\n      arguments='{arguments}' words='\n{lines(words)}\n' ;;"
        )
    cases.append("    *) return 1 ;;")
    return HEAD.format(shell="bash") + BASH.format(
        cases="\n".join(cases),
        settings=lines(f"{word.name}={word.values}" for word in settings()),
        configs="|".join(configs()),
        commands=" ".join(f"t2t-{command}" for command in modules),
    )


def names_of(word):
    """Returns the names with which a boolean flag is given."""
    return [word.name, f"no{word.name}"] if word.is_on else [word.name]


def lines(words):
    return "\n".join(f"        {word}" for word in words)


def zsh_script(modules):
    """Returns the script for zsh, see `bash_script`."""
    common, cases = ["'-h[Show help]'", *(spec for word in COMMON for spec in specs(word))], []
    for command, module in modules.items():
        own = [spec for word in words_of(module) for spec in specs(word)]
        arguments = ARGUMENTS.get(command, "@folder")
        own += [quoted(f"*:argument:{action(arguments)}")] if arguments else []
        cases.append(
            f"    t2t-{command})\n      _arguments $common \\\n"
            + " \\\n".join(f"        {spec}" for spec in own)
            + " ;;"
        )
    found = settings()
    with_values = [word for word in found if word.values]
    head = f"#compdef {' '.join(f't2t-{command}' for command in modules)}\n"
    return (
        head
        + HEAD.format(shell="zsh")
        + ZSH.format(
            configs=" ".join(configs()),
            settings=lines(quoted(f"--{word.name}:{word.meaning}") for word in found),
            values="\n".join(
                f"    --{word.name}) compadd {word.values.replace('|', ' ')} ;;"
                for word in with_values
            ),
            common=lines(common),
            cases="\n".join(cases),
        )
    )


def specs(word):
    """Yields the specifications of a flag for zsh's `_arguments`."""
    meaning = word.meaning.replace("[", "(").replace("]", ")")
    if word.values is None:
        yield from (quoted(f"--{name}[{meaning}]") for name in names_of(word))
        return
    star = "*" if word.name == "dev" else ""
    yield quoted(f"{star}--{word.name}=[{meaning}]:{word.name}:{action(word.values)}")


def action(values):
    """Returns the action of `_arguments` that completes a value."""
    actions = {"@file": "_files", "@folder": "_files -/", "@config": "_t2t_configs", "": " "}
    return actions.get(values) or f"({values.replace('|', ' ')})"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
