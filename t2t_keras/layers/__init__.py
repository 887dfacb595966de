"""The building blocks of the Transformer, as Keras layers for use in any model."""

from t2t_keras.decoding_cache import KeysValues
from t2t_keras.layers.attention import MultiHeadAttention
from t2t_keras.layers.decoder import Decoder, DecoderBlock
from t2t_keras.layers.encoder import Encoder, EncoderBlock
from t2t_keras.layers.feed_forward import FeedForward
from t2t_keras.layers.local_attention import LocalSelfAttention
from t2t_keras.layers.masks import causal_mask, local_mask, padding_mask
from t2t_keras.layers.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from t2t_keras.layers.residual import Residual
from t2t_keras.layers.scaled_dot_product import scaled_dot_product_attention
from t2t_keras.layers.shared_embedding import SharedEmbedding
from t2t_keras.layers.stack import Block

__all__ = ["Block", "Decoder", "DecoderBlock", "Encoder", "EncoderBlock", "FeedForward"]
__all__ += ["KeysValues", "LearnedPositionalEncoding", "LocalSelfAttention", "MultiHeadAttention"]
__all__ += ["Residual", "SharedEmbedding", "SinusoidalPositionalEncoding", "causal_mask"]
__all__ += ["local_mask", "padding_mask", "scaled_dot_product_attention"]
