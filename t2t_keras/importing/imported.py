"""A model of another system, described in this package's terms, before it becomes a run."""

import dataclasses
from typing import Any

from t2t_keras.transformer_config import TransformerConfig


@dataclasses.dataclass
class Pieces:
    """The sub-words of a language."""

    pieces: list  # the text of each id, in our order
    kind: str = "tokens"  # words between spaces; or "sentencepiece", or tensor2tensor's "subwords"
    model: bytes | None = None  # contents of the SentencePiece model
    codes: bool = False  # whether a text may begin with a language code such as >>de<<
    begin: bool = False  # whether the begin token precedes the text
    ids: Any = dataclasses.field(default=None, compare=False)  # their `Ids`, to reorder matrices


@dataclasses.dataclass
class Imported:
    """A model of another system."""

    system: str  # and its format
    config: TransformerConfig
    weights: dict  # {path of a weight of our model: `Tensor`}
    source: Pieces
    target: Pieces  # the same object if the vocabulary is shared
    search: dict = dataclasses.field(default_factory=dict)  # changes to the `SearchConfig`
    own_vocabulary: Any = None  # folder with our vocabulary files, if we exported the model
    notes: list = dataclasses.field(default_factory=list)  # for the user
    languages: Any = None  # codes of the source and target language
    origin: dict = dataclasses.field(default_factory=dict)  # of the model, in JSON types
