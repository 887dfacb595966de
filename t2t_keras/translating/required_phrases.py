"""Phrases that translations must contain: collected from requests and encoded as ids."""

import functools

from pipelines.glossaries.glossary import Glossary
from t2t_keras.decoding.rows import BEGIN

HINT = "Write it differently, or leave it out"
REQUIRED_LONGEST = 256  # maximum tokens of the phrases in a search with an export


def loaded_glossary(glossary, engine):
    """Returns the `Glossary` of a `Request`, or None.

    The engine's languages select the terms of a file with several languages.
    """
    if glossary is None or isinstance(glossary, Glossary):
        return glossary
    if isinstance(glossary, dict):
        return Glossary(glossary, engine.tokenizer.normalization)
    return Glossary.read(glossary, engine.tokenizer.normalization, engine.languages())


def glossary_in(text, engine):
    """Returns the `Glossary` in the text of a glossary's file."""
    normalization = engine.tokenizer.normalization
    return Glossary.parse(text.encode(), "`glossary`", normalization, engine.languages())


class PhraseEncoder:
    """Encodes phrases, and rejects phrases that no translation by an engine can contain."""

    def __init__(self, engine):
        self.engine, self.tokenizer = engine, engine.tokenizer.target
        self.encoded = functools.cache(self.checked)

    def ids_of(self, phrases, prefix):
        """Returns the ids of each phrase of a sentence, whose translation begins with the prefix.

        The phrases are texts; the prefix has ids.
        """
        method, engine = self.engine.config.method, self.engine
        longest, room = engine.longest, engine.phrase_room
        if method != "beam":
            raise ValueError(
                "phrases can be required from beam search only, not from "
                f"{'samples' if method == 'sample' else repr(method)}. Leave out "
                "--sample or --method, or --glossary and --require"
            )
        if self.tokenizer.ends_word is not None:
            self.tokenizer.ends_phrase()  # raises an error if phrases are not supported
        ids = [self.encoded(phrase) for phrase in phrases]
        count = sum(map(len, ids))
        if room is not None and count > room:
            raise ValueError(
                f"the required phrases of a sentence have {count:,} pieces together, but an "
                f"exported model takes at most {room}. Require fewer, or give the run"
            )
        total = len(prefix) + count
        if longest is not None and total > longest:
            raise ValueError(
                f"the required phrases of a sentence and its prefix have {total:,} pieces "
                f"together, but the model writes at most {longest:,}. Require fewer phrases"
            )
        return ids

    def checked(self, phrase):
        """Returns the ids of a phrase; `encoded` remembers them."""
        tokenizer, text = self.tokenizer, self.tokenizer.normalization(phrase)
        ids = [int(id) for id in tokenizer.encode([text])[0] if id != BEGIN]
        written = tokenizer.decode([ids])[0]
        if not ids or written != text:
            raise ValueError(
                f"no translation can contain the phrase {phrase!r}: the vocabulary can only write "
                f"{written!r}. {HINT}"
            )
        if not tokenizer.begins_word[ids[0]]:
            raise ValueError(
                f"the phrase {phrase!r} cannot be required: in this vocabulary, it does not begin "
                f"with the beginning of a word. {HINT}"
            )
        banned = [id for id in ids if id in self.engine.config.banned]
        if banned:
            piece = tokenizer.pieces(banned[:1])[0]
            raise ValueError(f"the required phrase {phrase!r} contains the banned piece {piece!r}")
        return ids
