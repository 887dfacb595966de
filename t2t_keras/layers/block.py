"""The kinds of blocks that a Transformer can be built from.

`BLOCKS` lists the choices of `TransformerConfig.block`. README.md shows how to add one.
"""

from pipelines.registry import Registry
from t2t_keras.layers.decoder import DecoderBlock
from t2t_keras.layers.encoder import EncoderBlock

# {name: (class of the encoder's blocks, class of the decoder's blocks)}
BLOCKS = Registry("BLOCKS", "model.block", {"transformer": (EncoderBlock, DecoderBlock)})
