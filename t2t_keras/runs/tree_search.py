"""Constrains a run to write only complete trees."""

import numpy as np

from pipelines.special_ids import UNKNOWN
from t2t_keras.decoding import tree_constraint as trees


def tree_constraint(run, config):
    """Returns the `TreeConstraint` that a `SearchConfig` needs for a `Run`, or None."""
    if not config.constrain:
        return None
    return tree_constraint_for(run.tokenizer(), run.prepared_with("leaves"), run.folder)


def tree_constraint_for(tokenizer, leaves, name):
    """Returns the `TreeConstraint` of a run with a name.

    `leaves` is the entry of the data's `preparation.json`, or None.
    """
    if not leaves:
        raise ValueError(
            f"{name} cannot write trees with --constrain=tree: it was not trained on trees, "
            "or does not record their leaves. t2t-prepare --treebank prepares trees"
        )
    return trees.TreeConstraint(tree_vocabulary(tokenizer, leaves[0]))


def tree_vocabulary(tokenizer, leaves):
    """Returns the `TreeVocabulary` of a tokenizer, whose target has a piece for each bracket."""
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
    classes = np.where(target.begins_word, trees.WORD_START, trees.CONTINUATION).astype("int32")
    is_text = [text != "" and not set(text) & {*"() "} for text in texts]
    classes[~np.array(is_text)] = trees.OTHER
    classes[[UNKNOWN, *target.byte_ids]] = trees.OTHER
    classes[closings > 0], classes[closings[closings > 0]] = trees.OPENING, trees.CLOSING
    has_bracket = np.array(["(" in text or ")" in text for text in texts])
    return trees.TreeVocabulary(
        leaves,
        classes,
        closings,
        np.asarray(source.begins_word),
        len(source.start),
        np.where(has_bracket, UNKNOWN, np.arange(target.size)).astype("int32"),
        tuple(int(id) for id in target.encode(["XX"])[0]),
    )
