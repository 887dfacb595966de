"""Every call of a function of the package fits the function's parameters.

Tests often replace a slow function by one that accepts anything, so a caller that was forgotten
when the parameters changed could pass all of them.
"""

import ast
import collections
import functools
import inspect
from pathlib import Path

ROOT = Path(__file__).parent.parent


@functools.cache
def trees():
    """Returns {name of the module: its tree}."""
    paths = [*ROOT.glob("t2t_keras/**/*.py"), *ROOT.glob("pipelines/**/*.py")]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in paths
    }


@functools.cache
def functions_in(module):
    body = trees()[module].body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


@functools.cache
def names_of(module):
    """Returns {name: (module, function)} of the package's functions that a module may call by name.

    A name with several meanings in the file is left out.
    """
    tree, meanings = trees()[module], collections.defaultdict(set)
    for name in functions_in(module):
        meanings[name].add((module, name))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                meanings[each.asname or each.name].add((node.module, each.name))
        elif isinstance(node, ast.arg):
            meanings[node.arg].add(None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            meanings[node.id].add(None)
        elif isinstance(node, ast.FunctionDef) and node not in tree.body:
            meanings[node.name].add(None)
    return {name: found.pop() for name, found in meanings.items() if len(found) == 1}


def definition(origin):
    """Returns the function that a module defines or imports from another one, or None."""
    while origin and origin[0] in trees():
        module, name = origin
        if function := functions_in(module).get(name):
            return function
        origin = names_of(module).get(name)
        if origin == (module, name):
            return None
    return None


def signature_of(function):
    """Returns the `Signature` of a function's tree. Defaults have no value."""
    given, parameters = function.args, []
    positional = [*given.posonlyargs, *given.args]
    required = len(positional) - len(given.defaults)
    for i, each in enumerate(positional):
        kind = "POSITIONAL_ONLY" if i < len(given.posonlyargs) else "POSITIONAL_OR_KEYWORD"
        parameters.append(parameter(each, kind, optional=i >= required))
    if given.vararg:
        parameters.append(parameter(given.vararg, "VAR_POSITIONAL"))
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        parameters.append(parameter(each, "KEYWORD_ONLY", optional=default is not None))
    if given.kwarg:
        parameters.append(parameter(given.kwarg, "VAR_KEYWORD"))
    return inspect.Signature(parameters)


def parameter(arg, kind, optional=False):
    default = None if optional else inspect.Parameter.empty
    return inspect.Parameter(arg.arg, getattr(inspect.Parameter, kind), default=default)


def mistake(call, function):
    """Returns why a call does not fit a function, or None. Unpacked arguments may fit."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    try:
        signature_of(function).bind(*call.args, **{each.arg: each for each in call.keywords})
    except TypeError as error:
        return str(error)
    return None


def test_calls_fit_the_parameters_of_the_functions():
    checked, mistakes = 0, []
    for module, tree in trees().items():
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            function = definition(names_of(module).get(call.func.id))
            if function and not function.decorator_list:
                checked += 1
                if found := mistake(call, function):
                    mistakes.append(f"{module}:{call.lineno}: {call.func.id}: {found}")
    assert not mistakes, "\n".join(mistakes)
    assert checked > 3000, "the calls of functions were not found"
