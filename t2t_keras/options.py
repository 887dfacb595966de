"""Options of a loss, an optimizer or a schedule that is chosen by name, as one setting.

`--config.training.optimizer_options=weight_decay=0.1,beta_1=0.9` are the arguments with which the
function of that name is called.
"""

import ast
import inspect
import sys

from t2t_keras.checks import check, check_choice, check_value, nearest

WORDS = {"true": True, "false": False, "none": None}


def read_options(setting, text):
    """Returns {name: value} of "NAME=VALUE,NAME=VALUE"; {} for "".

    A value is a number, true, false, none, a word, a text in quotation marks, or a list of values
    in brackets.

    Args:
        setting: name of the setting, for error messages.
        text: its value.
    """
    allowed = "NAME=VALUE,NAME=VALUE, with text that is not a single word in quotation marks"
    check(isinstance(text, str), setting, text, allowed)
    try:
        call = ast.parse(f"f({text}\n)", mode="eval").body
        is_call = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        check(is_call and not call.args, setting, text, allowed)
        options = {keyword.arg: value_of(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"`{setting}` must be {allowed}. Received: {setting}={text!r}") from error
    check(None not in options, setting, text, allowed)
    check(len(call.keywords) == len(options), setting, text, "options without duplicates")
    return options


def value_of(node):
    """Returns the value of an expression. Raises `ValueError` unless it is a literal or a word."""
    if isinstance(node, ast.Name):
        return WORDS.get(node.id.lower(), node.id)
    if isinstance(node, ast.List | ast.Tuple):
        return [value_of(each) for each in node.elts]
    value = ast.literal_eval(node)
    # A whole number may be too large for a float. NaN and infinity have no literal, but 1e999 has.
    finite = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    if not (finite or isinstance(value, str) or value is None):
        raise ValueError(value)
    return value


def made(setting, table, name, text, **facts):
    """Calls the function that a setting chooses by name, with options and the facts that it takes.

    Args:
        setting: the setting, such as "loss". `{setting}_options` has the options.
        table: {name: function or class}.
        name: value of the setting.
        text: value of `{setting}_options`.
        **facts: arguments that are no options, because they are settings of their own.
    """
    check_choice(setting, name, table)
    options = f"{setting}_options"
    values = checked_options(options, table[name], read_options(options, text), facts, name)
    parameters = inspect.signature(table[name]).parameters
    arguments = {fact: value for fact, value in facts.items() if fact in parameters}
    try:
        return table[name](**arguments, **values)
    except (TypeError, ValueError) as error:
        message = str(error).rstrip(".")
        raise ValueError(f"`{options}`: {message}. Received: {values}") from error


def checked_options(setting, function, options, given=(), of=""):
    """Returns the options with which a function will be called, checked against its parameters.

    An unknown or a missing option is named. A value must have the type of the parameter's default;
    whole numbers become floats if the default is one.

    Args:
        setting: name of the setting.
        function: function or class.
        options: {name: value}.
        given: names of the parameters that are not options.
        of: the name by which the function was chosen, for error messages.
    """
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters)
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    known = {p.name: p.default for p in parameters if p.kind in kinds and p.name not in given}
    checked = dict(options)
    for name, value in options.items():
        if name not in known and (name in given or not takes_any):
            of = f" of {of!r}" if of else ""
            has = f"The options{of} are: {', '.join(known)}" if known else f"No option{of} is known"
            raise ValueError(f"`{setting}` has no option {name!r}{nearest(name, known)}. {has}")
        default = known.get(name)
        is_number = isinstance(default, int | float) and not isinstance(default, bool)
        if is_number or isinstance(default, bool | str):
            check_value(f"{setting}: {name}", value, float if is_number else type(default))
        if isinstance(default, float):
            checked[name] = float(value)
    for name, default in known.items():
        if default is inspect.Parameter.empty and name not in options:
            raise ValueError(f"`{setting}` must give the option {name!r}, which has no default")
    return checked
