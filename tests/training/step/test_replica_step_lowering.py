"""The compiled training step and search as XLA's GPU compiler receives them, without a GPU.

XLA refuses operations that it lacks for GPUs. No kernel is compiled.
"""

import dataclasses
import functools
import itertools
import re
from unittest import mock

import keras
import pytest
import tensorflow as tf
from support.models.helpers import TINY, ids
from support.models.rival_models import RIVALS
from support.models.searches import model_that_ends

from t2t_keras import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    TokenAccuracy,
    TransformerConfig,
    cross_entropy,
)
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.layers.scaled_dot_product import SCORES
from t2t_keras.models import model_class
from t2t_keras.training.adam import Adam
from t2t_keras.training.step.trainable_models import trainable
from t2t_keras.translating.engines.model import whole_search


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


IDS = ids(4, 6, [6, 5, 3, 1])


def transformer(**settings):
    config = {**TINY, "num_layers": 1, "max_length": 30, "dropout": 0.1, **settings}
    return TransformerConfig(**config)


def lowered_step(config, dtype="float32", weights=None, metrics=None, **options):
    """Returns the program of the forward and backward pass."""
    model = trainable(model_class(config))(config, dtype=dtype)
    loss = LabelSmoothedCrossEntropy(0.1)
    options = {"jit_compile": True, **options}
    model.compile(Adam(1e-3), loss, metrics=metrics or [Perplexity()], **options)
    model.optimizer.build(model.trainable_variables)
    batch = tf.nest.map_structure(tf.constant, ({"source": IDS, "target": IDS}, IDS))
    arguments = *batch, weights, tf.constant(0, tf.int64), tf.constant(0.1)
    variables = [*model.variables, model.optimizer.iterations]
    return gpu_program(model.make_forward_backward().python_function, variables, *arguments)


@pytest.fixture
def exact():
    """Turns TF32 off, as training in float32 does."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    yield
    tf.config.experimental.enable_tensor_float_32_execution(before)


@pytest.mark.long
def test_a_step_in_float32_is_lowered_with_exact_products(exact):
    found = products(lowered_step(transformer()))
    assert len(found) > 50
    assert {(operands, is_exact) for operands, _, is_exact in found} == {(("f32", "f32"), True)}


def test_a_step_in_bfloat16_has_no_large_product_of_float32_arrays(exact):
    """Logits are in float32. Products of float32 arrays have one column: means, sums of logits."""
    program = lowered_step(transformer(vocab_size=50), "mixed_bfloat16")
    results = {("bf16", "bf16"): [], ("f32", "f32"): []}
    for operands, result, _ in products(program):
        results[operands].append(result)
    assert all(result.endswith(",1]") for result in results["f32", "f32"])
    in_float32 = [each for each in results["bf16", "bf16"] if each.startswith("f32")]
    # The logits, and the gradients of the vectors and of the matrix.
    assert sorted(in_float32) == ["f32[24,16]", "f32[24,50]", "f32[50,16]"]


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"r_drop": 5.0, "config": transformer(neighbourhood=2, decoder_neighbourhood=2)},
        {
            **{"metrics": [TokenAccuracy()], "weights": tf.ones([4, 6])},
            "config": transformer(pre_norm=True, tie_output=False, output_bias=True),
        },
    ],
    ids=["R-Drop of a restricted model", "logits of a model with options"],
)
def test_every_kind_of_step_is_lowered(options, exact):
    found = products(lowered_step(**options))
    assert found and all(is_exact for _, _, is_exact in found)


@pytest.mark.long
def test_a_loss_in_several_chunks_is_lowered_as_a_loop(monkeypatch):
    monkeypatch.setattr(cross_entropy, "MOST_LOGITS", 5 * 50)
    assert " while(" in lowered_step(transformer())


def kinds():
    """Yields a model with each way to compute scores and with each positional encoding."""
    for attention, positions in itertools.zip_longest(SCORES, POSITIONAL_ENCODINGS):
        chosen = {"attention": attention, "positions": positions}
        yield transformer(**{name: each for name, each in chosen.items() if each})


@pytest.mark.long
@pytest.mark.parametrize(
    "config", [*kinds()], ids=lambda each: each.attention + " " + each.positions
)
def test_every_attention_and_positional_encoding_is_lowered(config):
    assert lowered_step(config)


@pytest.mark.long
@pytest.mark.parametrize("name", ["gnmt", "moe", "convs2s"])
def test_rivals_are_lowered(name):
    assert lowered_step(dataclasses.replace(RIVALS[name][1], dropout=0.1))


@pytest.mark.long
def test_the_search_on_gpus_is_lowered():
    model, config = model_that_ends(num_layers=1), SearchConfig(no_repeat_ngram=2)
    search = functools.partial(whole_search, model, config, method_of(model, config))
    assert " while(" in gpu_program(search, model.variables, tf.constant(IDS), {})
