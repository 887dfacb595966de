"""Loads the signatures of a SavedModel one by one, when they are first called, without Keras.

`tf.saved_model.load` builds Python objects for all operations of all signatures, which takes
seconds. Here, TensorFlow's C++ code imports the graph of a signature on its first call.
"""

import collections.abc
import itertools

import tensorflow as tf

from t2t_keras.export.loading import checked_graph, damaged, load_text_operations, plain_path

COUNTER = itertools.count()
INITIALIZE = "__saved_model_init_op"


class SignatureGraphs(collections.abc.Mapping):
    """{name: signature} of a SavedModel. A signature is a function of named tensors.

    The variables live as long as the process, so this class is for commands. A server that
    replaces models needs `tf.saved_model.load`.

    Args:
        folder: the SavedModel's folder.

    Raises:
        ValueError: a file is damaged, or the graph has an operation that reaches beyond the model.
    """

    def __init__(self, folder):
        self.graph, self.prefix = checked_graph(folder), f"model_{next(COUNTER)}"
        load_text_operations()
        try:
            make_own(self.graph.graph_def, self.prefix)
            self.names = sorted(set(self.graph.signature_def) - {INITIALIZE})
            saver, initialize = self.graph.saver_def, self.graph.signature_def[INITIALIZE]
            operations = [saver.restore_op_name, *names_of(initialize.outputs)]
            restore = self.function([saver.filename_tensor_name], operations)
            with plain_path(folder) as path:
                restore(tf.constant(f"{path}/variables/variables"))
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(folder, error) from error
        except tf.errors.OpError as error:
            lines = [line for line in error.message.splitlines() if line and line[0] != "\t"]
            raise damaged(folder, lines[-1]) from error  # the cause follows the traces

    def __len__(self):
        return len(self.names)

    def __iter__(self):
        return iter(self.names)

    def __getitem__(self, name):
        if name not in self.names:
            raise KeyError(name)
        return SignatureGraph(self, name)

    def function(self, inputs, outputs):
        """Returns a function of tensors, from the part of the graph that computes the outputs.

        Args:
            inputs, outputs: names of tensors; an output may be an operation.
        """
        part = part_of(self.graph.graph_def, [*inputs, *outputs])
        wrapped = tf.compat.v1.wrap_function(
            lambda: tf.graph_util.import_graph_def(part, name=self.prefix), []
        )
        feeds, fetches = (
            [wrapped.graph.as_graph_element(f"{self.prefix}/{name}") for name in names]
            for names in (inputs, outputs)
        )
        return wrapped.prune(feeds, fetches)


class SignatureGraph:
    """A signature. The first call imports its graph. Inputs with defaults are optional."""

    def __init__(self, graphs, name):
        self.graphs, self.signature = graphs, graphs.graph.signature_def[name]
        defaults = self.signature.defaults
        self.defaults = {name: tf.constant(tf.make_ndarray(defaults[name])) for name in defaults}
        self.function = None

    def __call__(self, **inputs):
        if self.function is None:
            sides = self.signature.inputs, self.signature.outputs
            self.function = self.graphs.function(*map(names_of, sides))
        inputs = self.defaults | inputs
        results = self.function(*(inputs[name] for name in self.signature.inputs))
        return dict(zip(self.signature.outputs, results, strict=True))


def names_of(tensors):
    """Returns the graph's names for a signature's tensors or operations."""
    return [tensor.name for tensor in tensors.values()]


def make_own(graph, prefix):
    """Renames functions, variables and tables, so that nothing else in the process shares them.

    A table without a name has the name of its node, to which `function` adds the prefix.
    """
    functions = {function.signature.name for function in graph.library.function}

    def own(function):
        return f"{prefix}_{function}" if function in functions else function

    for function in graph.library.function:
        function.signature.name = own(function.signature.name)
    for node in itertools.chain(graph.node, *(each.node_def for each in graph.library.function)):
        node.op = own(node.op)
        for value in node.attr.values():
            called = [value.func] if value.HasField("func") else value.list.func
            for function in called:
                function.name = own(function.name)
        if "shared_name" in node.attr and node.attr["shared_name"].s:
            node.attr["shared_name"].s = f"{prefix}/".encode() + node.attr["shared_name"].s


def part_of(graph, names):
    """Returns a graph with the nodes and functions that the named tensors depend on."""
    nodes = {node.name: node for node in graph.node}
    functions = {function.signature.name: function for function in graph.library.function}
    used = reachable((name.split(":")[0] for name in names), lambda name: inputs_of(nodes[name]))
    called = reachable(
        calls_of(nodes[name] for name in used).intersection(functions),
        lambda name: calls_of(functions[name].node_def).intersection(functions),
    )
    part = tf.compat.v1.GraphDef(versions=graph.versions)
    part.node.extend(node for node in graph.node if node.name in used)
    part.library.function.extend(functions[name] for name in functions if name in called)
    return part


def reachable(names, next_names):
    """Returns the given names and all names reachable from them through `next_names`."""
    found, waiting = set(), list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting.extend(next_names(name))
    return found


def inputs_of(node):
    return (name.removeprefix("^").split(":")[0] for name in node.input)


def calls_of(nodes):
    """Returns the names of the operations and functions that nodes call."""
    called = set()
    for node in nodes:
        called.add(node.op)
        for value in node.attr.values():
            called.update([value.func.name, *(function.name for function in value.list.func)])
    return called
