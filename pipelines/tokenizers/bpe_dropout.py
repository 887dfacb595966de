"""BPE dropout: encodings of a text in which random merges are left out.

Provilkov et al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization", Algorithm 1. Byte
pairs are merged word by word, the best pair first. Before each merge, every possible merge of the
word is dropped with probability p. The word is finished when no merge remains.

All words of many texts are merged together, as rows of an array.
"""

import dataclasses
import re

import numpy as np

from pipelines.checks import setting, validate
from pipelines.special_ids import UNKNOWN
from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers.byte_pairs import BytePairTokenizer

CELLS = 2**16  # characters in one array, including padding


@dataclasses.dataclass
class EncodingsConfig:
    """Settings for encoding each sentence several ways; each epoch of training picks one.

    Args:
        per_sentence: number of encodings of each sentence: one without dropout, all others with it.
        bpe_dropout: probability of leaving out a merge.
        seed: random seed for the merges that are left out.
    """

    per_sentence: int = setting(1, at_least=1)
    bpe_dropout: float = setting(0.0, at_least=0, at_most=1)
    seed: int = setting(1, at_least=0)

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        validate(self, "encodings.")
        if (self.per_sentence > 1) != (self.bpe_dropout > 0):
            raise ValueError(
                "Set `encodings.per_sentence` to at least 2 and `encodings.bpe_dropout` above 0, "
                "for example to 8 and 0.1, or neither of them: dropout yields different encodings. "
                f"Received: encodings.per_sentence={self.per_sentence}, "
                f"encodings.bpe_dropout={self.bpe_dropout}"
            )


def refuse_other_kinds(config, tokenizer, kind=None):
    """Raises `ValueError` if dropout is requested for a vocabulary that is not byte-pair.

    If `tokenizer` is None, one of `kind` will be learned.
    """
    kinds = {tokenizer.source.kind, tokenizer.target.kind} if tokenizer else {kind}
    others = sorted(kinds - {BytePairTokenizer.kind})
    if config.per_sentence > 1 and others:
        raise ValueError(
            f"`encodings.per_sentence` and `encodings.bpe_dropout` need a vocabulary of kind "
            f"{BytePairTokenizer.kind!r}, whose pieces are merged. Leave them out, or use such a "
            f"vocabulary. Received: encodings.per_sentence={config.per_sentence}, a vocabulary of "
            f"kind {others[0]!r}"
        )


class BpeDropout:
    """Encodes texts with the merges of a byte-pair tokenizer, but leaves out random merges.

    Args:
        tokenizer: a `BytePairTokenizer`.
        dropout: probability of leaving out a merge. With 0, `encode` returns the ids of the
            tokenizer itself.
    """

    def __init__(self, tokenizer, dropout):
        processor = tokenizer.processor
        self.dropout, self.byte_ids, self.start = dropout, tokenizer.byte_ids, tokenizer.start
        pieces = {}
        for id in range(tokenizer.size):
            if not (processor.is_control(id) or processor.is_unknown(id) or processor.is_byte(id)):
                pieces[processor.id_to_piece(id)] = id
        scores = np.array([processor.get_score(id) for id in range(tokenizer.size)], "float32")
        # The user's symbols and the best merge, which is listed after them, have score 0.
        *symbols, _ = (piece for piece, id in pieces.items() if scores[id] == 0)
        longest_first = sorted(map(re.escape, symbols), key=len, reverse=True)
        self.symbols = re.compile(f"({'|'.join(longest_first)})") if symbols else None
        self.ids = pieces
        self.cost = -scores
        self.cost[0] = np.inf  # id 0 stands for no merge
        pieces = {piece: id for piece, id in pieces.items() if piece not in set(symbols)}
        # All pairs of pieces whose concatenation is also a piece, and a key that is greater than
        # all others, so that a search always finds one.
        size = len(self.cost)
        pairs = {size * size: 0}
        for piece, id in pieces.items():
            for cut in range(1, len(piece)):
                left, right = pieces.get(piece[:cut]), pieces.get(piece[cut:])
                if left is not None and right is not None:
                    pairs[left * size + right] = id
        self.keys = np.array(sorted(pairs))
        self.merged = np.array([pairs[key] for key in self.keys.tolist()])

    def merges(self, left, right):
        """Returns the id that each pair of ids merges into, or 0 for none."""
        keys = left * len(self.cost) + right
        found = np.searchsorted(self.keys, keys)
        return np.where(self.keys[found] == keys, self.merged[found], 0)

    def encode(self, texts, random, times=1):
        """Encodes normalized texts several times.

        Args:
            texts: a list of strings.
            random: a NumPy `Generator`. Its state determines the encodings.
            times: number of encodings of each text.

        Returns:
            For each time, the concatenated ids of all texts, and the number of ids of each text.
        """
        units, units_of_words, order, counts = [[id] for id in self.start], {}, [], []
        for text in texts:
            before = len(order)
            order += range(len(self.start))
            for word in text.split(" ") if text else ():
                if word not in units_of_words:
                    new = self.units(SPACE_SIGN + word)
                    units_of_words[word] = range(len(units), len(units) + len(new))
                    units += new
                order += units_of_words[word]
            counts.append(len(order) - before)
        ids, lengths = self.merged_units(units, np.tile(np.array(order, int), times), random)
        ends_of_units = np.cumsum([0, *lengths.tolist()])
        ends_of_texts = np.cumsum([0, *times * counts])
        lengths = np.diff(ends_of_units[ends_of_texts]).reshape(times, len(texts))
        return list(zip(np.split(ids, lengths.sum(axis=1).cumsum()[:-1]), lengths, strict=True))

    def units(self, word):
        """Returns the ids of characters of each unit of a word: a user's symbol, or the rest."""
        parts = self.symbols.split(word) if self.symbols else [word]
        # Every second part is a symbol.
        return [
            [self.ids[part]] if index % 2 else self.characters(part)
            for index, part in enumerate(parts)
            if part
        ]

    def characters(self, text):
        """Returns the ids of characters or their bytes. A run of unknown characters gets one id."""
        ids = []
        for character in text:
            if character in self.ids:
                ids.append(self.ids[character])
            elif self.byte_ids:
                ids.extend(self.byte_ids[byte] for byte in character.encode())
            elif ids[-1:] != [UNKNOWN]:
                ids.append(UNKNOWN)
        return ids

    def merged_units(self, units, order, random):
        """Merges occurrences of units, given as their indices in `order`.

        Returns the concatenated ids, and the number of ids per occurrence.
        """
        sizes = np.array(list(map(len, units)), int)[order]
        starts = np.cumsum([0, *map(len, units)])[order]
        characters = np.concatenate([*map(np.array, units), np.zeros(0, int)]).astype(int)
        lengths, groups = np.zeros(len(order), int), []
        for members, width in of_similar_size(sizes):
            columns = np.arange(width)
            real = columns < sizes[members, None]
            ids = np.zeros(real.shape, int)
            ids[real] = characters[(starts[members, None] + columns)[real]]
            ids = self.merged_rows(ids, random)
            lengths[members] = (ids > 0).sum(axis=1)
            groups.append((members, ids))
        flat, first = np.zeros(lengths.sum(), "int32"), np.cumsum(lengths) - lengths
        for members, ids in groups:
            places = first[members, None] + np.arange(ids.shape[1])
            flat[places[ids > 0]] = ids[ids > 0]
        return flat, lengths

    def merged_rows(self, ids, random):
        """Merges each row of ids `[rows, width]`, padded with 0, until no merge remains."""
        result, rows = np.zeros_like(ids), np.arange(len(ids))
        merged = self.merges(ids[:, :-1], ids[:, 1:])
        if not merged.size:
            return ids
        while len(rows):
            costs = self.cost[merged]  # cost of merging each position with the next one
            costs[random.random(costs.shape, "float32") < self.dropout] = np.inf
            best = costs.argmin(axis=1)
            unfinished = costs[np.arange(len(rows)), best] < np.inf
            result[rows[~unfinished]] = ids[~unfinished]
            rows, ids, merged, best = (x[unfinished] for x in (rows, ids, merged, best))
            ids, merged = self.after_merge(ids, merged, best)
        return result

    def after_merge(self, ids, merged, best):
        """Performs one merge in each row, and returns the new `ids` and `merged`.

        Args:
            ids: `[rows, width]`.
            merged: id produced by merging each position with the next, or 0, `[rows, width − 1]`.
            best: the position to merge with the next one, `[rows]`.
        """
        rows, columns = np.arange(len(ids)), np.arange(ids.shape[1])
        new = merged[rows, best]
        end = np.zeros((len(ids), 1), int)
        ids = np.concatenate([ids, end], axis=1)
        ids = np.take_along_axis(ids, columns + (columns > best[:, None]), axis=1)
        ids[rows, best] = new
        merged = np.concatenate([merged, end], axis=1)
        pairs = columns[:-1]
        merged = np.take_along_axis(merged, pairs + (pairs >= best[:, None]), axis=1)
        right = np.flatnonzero(best < len(pairs))
        merged[right, best[right]] = self.merges(new[right], ids[right, best[right] + 1])
        left = np.flatnonzero(best > 0)
        merged[left, best[left] - 1] = self.merges(ids[left, best[left] - 1], new[left])
        return ids, merged


def of_similar_size(sizes):
    """Yields indices of units of similar size that fit in `CELLS`, and the width of their array."""
    shorter, width = 0, 1
    while shorter < sizes.max(initial=0):
        members = np.flatnonzero((shorter < sizes) & (sizes <= width))
        rows = max(1, CELLS // width)
        for first in range(0, len(members), rows):
            yield members[first : first + rows], width
        shorter, width = width, 2 * width
