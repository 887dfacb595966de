"""A model of another system, described in this package's terms, before it becomes a run."""

import dataclasses
from typing import Any

from t2t_keras.transformer_config import TransformerConfig


@dataclasses.dataclass
class Pieces:
    """The sub-words of a language.

    Args:
        pieces: the text of each id, in our order.
        kind: "tokens" (words between spaces), "sentencepiece" or "subwords" (tensor2tensor's).
        model: contents of the SentencePiece model.
        codes: whether a text may begin with a language code such as >>de<<.
        begin: whether the begin token precedes the text.
    """

    pieces: list
    kind: str = "tokens"
    model: bytes | None = None
    codes: bool = False
    begin: bool = False


@dataclasses.dataclass
class Imported:
    """A model of another system.

    Args:
        system: name of the system and its format.
        config: the `TransformerConfig`.
        weights: {path of a weight of our model: `Tensor`}.
        source, target: the `Pieces` of each language; one object if the vocabulary is shared.
        search: changes to the `SearchConfig` that the model's files request.
        own_vocabulary: folder with our vocabulary files, if this package exported the model. If
            None, `source` and `target` describe the vocabulary.
        notes: notes for the user.
        languages: codes of the source and target language, or None if they are unknown.
        origin: facts about where the model comes from, in JSON types.
    """

    system: str
    config: TransformerConfig
    weights: dict
    source: Pieces
    target: Pieces
    search: dict = dataclasses.field(default_factory=dict)
    own_vocabulary: Any = None
    notes: list = dataclasses.field(default_factory=list)
    languages: Any = None
    origin: dict = dataclasses.field(default_factory=dict)
