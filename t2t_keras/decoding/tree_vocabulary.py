"""The vocabulary of a parser: which ids are brackets, and which ones write the leaves of trees."""

from typing import NamedTuple

import numpy as np

UNKNOWN = 3
OTHER, OPENING, CLOSING, WORD_START, CONTINUATION = range(5)
ONLY_TREES = (
    "constrain='tree' takes neither prefixes nor required phrases, because every output is a tree. "
    "Leave them out"
)


class TreeVocabulary(NamedTuple):
    """Tables of a vocabulary of trees.

    The classes of target ids are `OPENING` and `CLOSING` brackets, pieces of text that begin a word
    (`WORD_START`) or continue one (`CONTINUATION`), and `OTHER`.
    """

    leaves: str  # how a word is written: "tag", "XX" or "word"
    classes: np.ndarray  # class of each target id
    closings: np.ndarray  # for each opening bracket, the id of its closing bracket; 0 elsewhere
    begins_word: np.ndarray  # for each source id, whether it begins a word
    start: int  # number of ids that begin every source
    written: np.ndarray  # for each source id, the id that writes it in a leaf
    placeholder: tuple  # ids that write "XX"


def tree_vocabulary(tokenizer, leaves):
    """Returns the `TreeVocabulary` of a tokenizer.

    Args:
        tokenizer: has a `source` and a `target`. The target has a piece for each bracket.
        leaves: how the trees write a word: "tag", "XX" or "word".
    """
    source, target = tokenizer.source, tokenizer.target
    if leaves == "word" and source.contents() != target.contents():
        raise ValueError(
            "constrain='tree' needs one vocabulary for both sides if the words are the leaves of "
            "the trees. This run has two"
        )
    texts = np.array(target.decode([[id] for id in range(target.size)]), dtype=object)
    brackets = {text: id for id, text in enumerate(texts) if target.begins_word[id]}
    closings = np.zeros(target.size, "int32")
    for text, id in brackets.items():
        if text.startswith("("):
            closings[id] = brackets.get(f"){text[1:]}", 0)
    if not closings.any():
        raise ValueError(
            "constrain='tree' needs a vocabulary of trees, with a piece for each bracket, such as "
            "(NP and )NP. This vocabulary has none. t2t-prepare --treebank learns one"
        )
    classes = np.where(target.begins_word, WORD_START, CONTINUATION).astype("int32")
    is_text = [text != "" and not set(text) & {*"() "} for text in texts]
    classes[~np.array(is_text)] = OTHER
    classes[[UNKNOWN, *target.byte_ids]] = OTHER
    classes[closings > 0], classes[closings[closings > 0]] = OPENING, CLOSING
    has_bracket = np.array(["(" in text or ")" in text for text in texts])
    return TreeVocabulary(
        leaves,
        classes,
        closings,
        np.asarray(source.begins_word),
        len(source.start),
        np.where(has_bracket, UNKNOWN, np.arange(target.size)).astype("int32"),
        tuple(int(id) for id in target.encode(["XX"])[0]),
    )
