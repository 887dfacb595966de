"""Every call of a function of the package fits the function's parameters.

Tests often replace a slow function by one that accepts anything, so a caller that was forgotten
when the parameters changed could pass all of them.
"""

import ast
import collections
import inspect
from pathlib import Path

ROOT = Path(__file__).parent.parent
TREES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
        path.read_text(encoding="utf-8")
    )
    for folder in ("t2t_keras", "pipelines")
    for path in ROOT.glob(f"{folder}/**/*.py")
}
FUNCTIONS = {
    (module, node.name): node
    for module, tree in TREES.items()
    for node in tree.body
    if isinstance(node, ast.FunctionDef) and not node.decorator_list
}


def functions_by_name(module):
    """Returns {name: function} of the package's functions that a module may call by name.

    A name with several meanings in the module is left out.
    """
    tree, meanings = TREES[module], collections.defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                meanings[each.asname or each.name].append((node.module, each.name))
        elif isinstance(node, ast.FunctionDef):
            meanings[node.name].append((module, node.name) if node in tree.body else None)
        elif isinstance(node, ast.arg):
            meanings[node.arg].append(None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            meanings[node.id].append(None)
    origins = {name: {*found}.pop() for name, found in meanings.items() if len({*found}) == 1}
    return {name: FUNCTIONS[origin] for name, origin in origins.items() if origin in FUNCTIONS}


def signature_of(function):
    """Returns the `Signature` of a function's tree, with None as every default."""
    given = function.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if each is not None:
            each.annotation = None
    given.defaults = [ast.Constant(None)] * len(given.defaults)
    given.kw_defaults = [each and ast.Constant(None) for each in given.kw_defaults]
    return inspect.signature(eval(f"lambda {ast.unparse(given)}: None"))


def test_calls_fit_the_parameters_of_the_functions():
    signatures = {id(function): signature_of(function) for function in FUNCTIONS.values()}
    checked, mistakes = 0, []
    for module, tree in TREES.items():
        functions = functions_by_name(module)
        for call in ast.walk(tree):
            is_named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            if not is_named or call.func.id not in functions:
                continue
            names = [each.arg for each in call.keywords]
            if None in names or any(isinstance(each, ast.Starred) for each in call.args):
                continue  # unpacked arguments may fit
            checked += 1
            try:
                signatures[id(functions[call.func.id])].bind(*call.args, **dict.fromkeys(names))
            except TypeError as error:
                mistakes.append(f"{module}:{call.lineno}: {call.func.id}: {error}")
    assert not mistakes, "\n".join(mistakes)
    assert checked > 3000, "the calls of functions were not found"
