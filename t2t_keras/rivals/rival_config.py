"""The settings that all rivals share."""

import dataclasses

from pipelines.checks import setting, validate
from t2t_keras.checks import check, check_integer


@dataclasses.dataclass
class RivalConfig:
    """Base class of the rivals' settings.

    Args:
        vocab_size: number of target tokens, and of source tokens if `source_vocab_size` is None.
        num_layers: number of layers of the encoder.
        decoder_layers: number of layers of the decoder. None: `num_layers`.
        d_model: width of the embeddings, and of the vectors that are compared with them.
        dropout: rate on the embeddings and on each layer's output.
        source_vocab_size: number of source tokens. None: source and target share one embedding
            matrix.
        tie_output: whether the target's embedding matrix also computes the logits.
    """

    vocab_size: int = setting(37000, at_least=4)
    num_layers: int = setting(6, at_least=1)
    decoder_layers: int | None = setting(None, at_least=1)
    d_model: int = setting(512, at_least=1)
    dropout: float = setting(0.1, at_least=0, below=1)
    source_vocab_size: int | None = setting(None, at_least=4)
    tie_output: bool = True

    # Further attributes that `SequenceModel` needs.
    source_end = True
    output_bias = False
    num_heads = 1
    longest = None
    widths = ("d_model",)  # names of the settings that `divided` divides

    def __post_init__(self):
        self.validate()

    def validate(self):
        """Raises `ValueError` for the first setting that is invalid."""
        validate(self)

    @property
    def layers(self):
        """The numbers of layers: (encoder, decoder)."""
        return self.num_layers, self.decoder_layers or self.num_layers

    @property
    def attention_layers(self):
        """The numbers of attention layers: (encoder, decoder, cross-attention)."""
        return 0, 0, 0

    def attention_products(self, length):
        """Returns the multiplications per token in products with keys and values."""
        return 0

    def use_of(self, path):
        """Returns how many times each token is multiplied by the matrix at a path."""
        return 1

    def resolved(self):
        """Returns a validated copy with `decoder_layers` set."""
        return dataclasses.replace(self, decoder_layers=self.layers[1])

    def divided(self, widths=1, layers=1):
        """Returns a copy with all widths and numbers of layers divided by these divisors."""
        divided = {}
        names = dict.fromkeys(self.widths, ("widths", widths))
        names |= dict.fromkeys(("num_layers", "decoder_layers"), ("layers", layers))
        for name, (argument, divisor) in names.items():
            size = getattr(self, name)
            if size is not None:
                check_integer(argument, divisor)
                check(size % divisor == 0, argument, divisor, f"a divisor of {name}={size}")
                divided[name] = size // divisor
        return dataclasses.replace(self, **divided)
