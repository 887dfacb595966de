"""The columns of a batch as arrays; `pipelines/text/columns.py` has their kinds."""

import functools

import numpy as np

from pipelines.text.columns import COLUMNS


class BatchColumns:
    """Makes the arrays of some columns for the pairs of a batch, given the names of the columns.

    `tokenizer` made the store's ids. Raises `ValueError` if the data does not have a column.
    """

    def __init__(self, store, names, tokenizer):
        self.store, self.tokenizer = store, tokenizer
        self.kinds = {name: COLUMNS[name] for name in names}
        for name, kind in self.kinds.items():
            has = [name in shard.columns for shard in store.shards]
            if not any(has) or (kind.missing is None and not all(has)):
                where = "a corpus of the data lacks" if any(has) else "the data has not got"
                raise ValueError(
                    f"This training needs the column {name!r}, which {where}. Add "
                    f"--column={name}=FILE to t2t-prepare, with a new output folder"
                )

    def of(self, examples, source, labels):
        """Returns {name: array, one row for each row of the batch}.

        Args:
            examples: indices of the pairs. Further rows of the batch are padding.
            source, labels: ids of the batch, `[rows, width]`.
        """
        ids = {"source": source, "target": labels}
        words = functools.cache(lambda side: words_of(getattr(self.tokenizer, side), ids[side]))
        padding = [(0, len(source) - len(examples)), (0, 0)]
        arrays = {}
        for name, kind in self.kinds.items():
            values = self.store.column(name, examples)
            arrays[name] = kind.batch(np.pad(values, padding, constant_values=np.nan), words)
        return arrays


def words_of(tokenizer, ids):
    """Returns the index of the word of each id, `[rows, width]`; -1 for tags, end and padding."""
    is_text = ~np.isin(ids, [*tokenizer.marks])
    if tokenizer.ends_word is None:
        begins = tokenizer.begins_word[ids]
    else:
        begins = np.pad(tokenizer.ends_word[ids[:, :-1]], [(0, 0), (1, 0)])
    first = np.arange(ids.shape[1]) == is_text.argmax(axis=1)[:, None]
    return np.where(is_text, np.cumsum((begins | first) & is_text, axis=1) - 1, -1)
