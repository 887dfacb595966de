"""Base class of all models: embeddings, input checks, serialization.

A model of this package derives from `SequenceModel`. Then the trainer, the searches, the exports,
the pictures and the server accept it. The models are `Transformer` and those in `rivals/`.
"""

import dataclasses
import functools

import keras
from keras import ops

from pipelines.checks import validate
from t2t_keras.checks import check, check_integer
from t2t_keras.guided_alignment import COLUMN, decode_and_align
from t2t_keras.layers.keras_interface.adapted_layers import AdaptedLayers, quick_collections
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.shared_embedding import SharedEmbedding

END = 2  # the id that ends every source


class ModelConfig:
    """Base class of the settings of models, which are dataclasses.

    They have the fields `vocab_size`, `source_vocab_size`, `tie_output`, `d_model`, `num_layers`
    and `decoder_layers`; the attributes here hold for most models.
    """

    source_end = True  # whether the model sees the end token of the source
    output_bias = False
    num_heads = 1
    longest = None  # maximum length of a sequence; None: no limit
    attention_layers = 0, 0, 0  # of the encoder, of the decoder and between them
    widths = ("d_model",)  # names of the settings that `divided` divides

    def __post_init__(self):
        self.validate()

    def validate(self):
        """Raises `ValueError` for the first setting that is invalid or contradicts another one."""
        validate(self)

    @property
    def layers(self):
        """The number of layers of the encoder and of the decoder."""
        return self.num_layers, self.decoder_layers or self.num_layers

    def attention_products(self, length):
        """Returns the multiplications of a token with the keys and values of other tokens."""
        return 0

    def use_of(self, path):
        """Returns the number of times that a token is multiplied by the matrix at a path."""
        return 1

    def resolved(self):
        """Returns a checked copy with `decoder_layers` set."""
        return dataclasses.replace(self, decoder_layers=self.layers[1])

    def divided(self, widths=1, layers=1):
        """Returns a copy with all widths and numbers of layers divided by these divisors."""
        divided = {}
        for name in (*self.widths, "num_layers", "decoder_layers"):
            size = getattr(self, name)
            argument, divisor = ("layers", layers) if "layers" in name else ("widths", widths)
            if size is not None:
                check_integer(argument, divisor)
                check(size % divisor == 0, argument, divisor, f"a divisor of {name}={size}")
                divided[name] = size // divisor
        return dataclasses.replace(self, **divided)


class SequenceModel(AdaptedLayers, OutputShapes, keras.Model):
    """Base class of the models that map source ids to logits of target tokens.

    The weights are created with the model, without a first call. A subclass creates its layers in
    `__init__`, calls `self.create_weights()` at its end, and defines:

    - `config_class`: the dataclass of its settings, derived from `ModelConfig`.
    - `embedding_options`: further arguments of its `SharedEmbedding`s.
    - `build_layers()`.
    - `encode(source, training)`.
    - `decode(source, target, training)`: vectors `[batch, target_length, d_model]`; vector i is
      computed from the source and `target[:, :i + 1]`.
    - `start_decoding(source, max_length, beams)` and `decode_step(tokens, position, cache, memory,
      visible)`, as `Transformer` describes them.
    - `attention_weights(inputs)`.

    Args:
        config: an instance of `config_class`; None: its defaults.

    Call arguments and results are the same as for `Transformer`.
    """

    config_class = None
    supports_masking = False  # the masks follow from the ids

    def __init__(self, config=None, **kwargs):
        super().__init__(autocast=False, **kwargs)  # the inputs are ids
        policy = self.dtype_policy
        floats = "a policy of floats. `model.quantize` makes integers of the weights"
        check(policy.quantization_mode is None, "dtype", policy.name, floats)
        config = self.config_class() if config is None else config
        allowed = f"a {self.config_class.__name__} or None"
        check(isinstance(config, self.config_class), "config", config, allowed)
        self.config = config = config.resolved()

        def embedding(name, vocab_size=config.vocab_size, **options):
            return SharedEmbedding(
                *(vocab_size, config.d_model),
                mask_zero=False,
                dtype=self.dtype_policy,
                name=name,
                **self.embedding_options,
                **options,
            )

        output = {"output_bias": config.output_bias}
        self.embedding = embedding("embedding", **(output if config.tie_output else {}))
        self.source_embedding = self.output_embedding = self.embedding
        if config.source_vocab_size is not None:
            self.source_embedding = embedding("source_embedding", config.source_vocab_size)
        if not config.tie_output:
            self.output_embedding = embedding("output_embedding", **output)

    @property
    def embedding_options(self):
        return {}

    def create_weights(self):
        # With the shapes of its inputs, Keras can export a model that was never called.
        self.build({"source": (None, None), "target": (None, None)})

    def build(self, input_shape):
        if self.built:
            return
        ids, vectors = (None, None), (None, None, self.config.d_model)
        layers = self.embedding, self.source_embedding, self.output_embedding
        for layer, shape in zip(layers, (ids, ids, vectors), strict=True):
            if not layer.built:
                layer.build(shape)
        self.build_layers()
        self.built = True

    def call(self, inputs, training=None, project=True):
        # `training` is passed explicitly: on JAX, Keras' `fit` calls this method instead of the
        # model, so the layers would not inherit it.
        source, target = check_inputs(inputs)
        columns = {name: inputs.get(name) for name in self.columns}
        if training and self.guided_alignment and COLUMN in inputs:
            x = decode_and_align(self, inputs, columns)
        else:
            x = self.decode(source, target, training, **columns)
        return self.output_embedding.project(x) if project else x

    def source_mask(self, source):
        """Returns a mask `[batch, length]`, True at the tokens that the decoder may see."""
        mask = padding_mask(source)
        return mask if self.config.source_end else mask & ops.not_equal(source, END)

    columns = ()  # names of columns that `decode` takes as further arguments; None: there are none
    guided_alignment = 0.0  # weight of the loss of guided alignment; an option of `compile`
    steps_at_once = False  # whether `decode_step` takes several successive tokens

    @property
    def input_dtype(self):
        """The dtype that Keras assumes for inputs when it exports the model."""
        return "int32"

    @property
    def longest(self):
        """The maximum length of a sequence; None: no limit."""
        return self.config.longest

    def check_room(self, max_length, beams):
        """Checks the arguments of `start_decoding`."""
        if not ops.is_tensor(max_length):
            check_integer("max_length", max_length)
        check_integer("beams", beams)

    def extend_cache(self, cache, max_length, beams=1):
        """Returns a cache with the same content, for up to `max_length` tokens.

        Here, this is the same cache, because its size does not depend on the length.
        """
        return cache

    @functools.wraps(keras.Model.quantize)
    def quantize(self, *args, **kwargs):
        with quick_collections():
            super().quantize(*args, **kwargs)

    @functools.wraps(keras.Model.export)
    def export(self, filepath, *args, input_signature=None, **kwargs):
        if input_signature is None:  # Keras knows it only after a call
            ids = keras.InputSpec(shape=(None, None), dtype=self.input_dtype)
            input_signature = [{"source": ids, "target": ids}]
        return super().export(filepath, *args, input_signature=input_signature, **kwargs)

    def __reduce__(self):
        # Keras would refer to the class, but `trainable` makes a class that has no name to import.
        _, arguments = super().__reduce__()
        return unpickled, arguments

    def compute_output_shape(self, input_shape):
        return (*input_shape["target"], self.config.vocab_size)

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return super().from_config({**config, "config": cls.config_class(**config["config"])})


def unpickled(file):
    """Returns the model of a `.keras` file in memory."""
    return SequenceModel._unpickle_model(file)


def check_inputs(inputs):
    """Returns source and target ids. Raises `ValueError` if one is missing or malformed."""
    if not isinstance(inputs, dict) or not {"source", "target"} <= inputs.keys():
        received = list(inputs) if isinstance(inputs, dict) else type(inputs).__name__
        raise ValueError(
            "The model takes {'source': ids [batch, length], 'target': ids [batch, length]}. "
            f"Received: {received}"
        )
    source, target = inputs["source"], inputs["target"]
    check_ids("source", source)
    check_ids("target", target)
    batch_sizes = source.shape[0], target.shape[0]
    if None not in batch_sizes and batch_sizes[0] != batch_sizes[1]:
        raise ValueError(
            "'source' and 'target' must have the same number of rows. "
            f"Received: {batch_sizes[0]} and {batch_sizes[1]}"
        )
    return source, target


def check_ids(name, ids):
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if len(ids.shape) != 2 or "int" not in dtype:
        raise ValueError(
            f"{name!r} must be integers of shape [batch, length]. "
            f"Received: {name!r} of dtype {dtype}, rank {len(ids.shape)}, shape {tuple(ids.shape)}"
        )


def beams_of(tokens, cache, visible):
    """Returns the number of hypotheses per sentence in a decoding step, as far as it is known."""
    sentences, rows = cache.shape[0], tokens.shape[0]
    if visible is not None:
        return visible.shape[1]
    return 1 if None in (sentences, rows) else rows // sentences
