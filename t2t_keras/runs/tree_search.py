"""The constraint that the outputs of a run are trees."""

from t2t_keras.decoding.tree_constraint import TreeConstraint
from t2t_keras.decoding.tree_vocabulary import tree_vocabulary


def tree_constraint(run, config):
    """Returns the `TreeConstraint` that a `SearchConfig` needs for a run, or None.

    Args:
        run: a `Run` or a `RunEnsemble`.
        config: its `SearchConfig`.
    """
    if not config.constrain:
        return None
    leaves = run.prepared_with("leaves")
    if not leaves:
        raise ValueError(
            f"{run.folder} cannot write trees with --constrain=tree: it was not trained on trees, "
            "or does not record their leaves. t2t-prepare --treebank prepares trees"
        )
    return TreeConstraint(tree_vocabulary(run.tokenizer(), leaves[0]))
