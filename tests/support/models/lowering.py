"""Lowers compiled functions to the program that XLA would compile for a GPU, without a GPU."""

import re
from unittest import mock

import keras
import tensorflow as tf


def gpu_program(function, variables, *arguments):
    """Returns the program of a function (HLO, a text) as XLA's GPU compiler receives it.

    An operation that XLA cannot compile for a GPU raises `ValueError`.
    """

    def stateless(values, *arguments):
        known = list(zip(variables, values, strict=True))

        class Scope(keras.StatelessScope):
            """A scope that keeps the values of the scope around it."""

            def __init__(self, state_mapping=(), **options):
                super().__init__([*known, *state_mapping], **options)

        class Tape(tf.GradientTape):
            """A tape that watches the values, as it would watch the variables."""

            def __enter__(self):
                super().__enter__().watch(values)
                return self

        with (
            mock.patch.object(keras, "StatelessScope", Scope),
            mock.patch.object(tf, "GradientTape", Tape),
            Scope(),
        ):
            return function(*arguments)

    program = tf.function(stateless, jit_compile=True, autograph=False)
    values = [tf.convert_to_tensor(variable.value) for variable in variables]
    lower = program.experimental_get_compiler_ir(values, *arguments)
    return lower(stage="hlo", platform_name="GPU")


def products(program):
    """Returns (types of the operands, type and shape of the result, whether exact) of products."""
    types = dict(re.findall(r"%(\S+) = (\w+)\[", program))
    found = re.findall(r"= (\w+\[[\d,]*\])\S* dot\((.*?)\), (.*)", program)
    return [
        (
            tuple(types[name] for name in re.findall(r"%([^\s,)]+)", operands)),
            result,
            "operand_precision={highest,highest}" in rest,
        )
        for result, operands, rest in found
    ]
