"""Search, log P and attention as defined by this package, computed by CTranslate2.

CTranslate2 ranks hypotheses by log P and returns the n best. If this list is long enough, applying
our length penalty and length limits yields the hypotheses that `BeamSearch` finds.
`export/how_to_match_ctranslate2.md` says when results may differ. This module imports neither
Keras nor TensorFlow.
"""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.decoding.rows import BEGIN, END, PADDING, Hypotheses
from t2t_keras.export.ctranslate2_package import POSITIONS, UNKNOWN

# CTranslate2 stops after this many hypotheses per place in the beam. A sentence whose result is
# uncertain is searched again, with twice as many hypotheses each time.
PER_BEAM = 2
ROUNDS = 5  # maximum number of searches for a sentence


class Pieces:
    """Converts ids to pieces, which CTranslate2 takes and returns.

    Args:
        tokenizer: the vocabulary's tokenizer.
    """

    def __init__(self, tokenizer):
        sides = tokenizer.source, tokenizer.target
        self.source, self.target = (side.pieces(range(side.size)) for side in sides)
        self.ids = {piece: id for id, piece in enumerate(self.target)}

    def source_of(self, ids):
        """Returns the pieces of a source without begin and end tokens, which CTranslate2 adds."""
        ids = ids[:-1]
        return [self.source[id] for id in (ids[1:] if len(ids) and ids[0] == BEGIN else ids)]

    def target_of(self, ids):
        return [self.target[id] for id in ids]


class Row(NamedTuple):
    """A row of a search.

    Args:
        source: ids, including the end token.
        limit: maximum tokens of the output, including the end token.
        prefix: ids that the output begins with.
        prefix_log_p: log P of the prefix.
    """

    source: Any
    limit: int
    prefix: Any = ()
    prefix_log_p: float = 0.0


class CTranslate2Search:
    """Takes `Rows` and returns the `Hypotheses` that the search finds.

    Args:
        translator: a `ctranslate2.Translator`.
        pieces: a `Pieces`.
        config: a `SearchConfig`.
        longest: maximum tokens of an output, including the end token. None: no maximum.
    """

    def __init__(self, translator, pieces, config, longest=None):
        self.translator, self.config, self.pieces = translator, config, pieces
        self.longest = min(longest or POSITIONS, POSITIONS)

    def __call__(self, rows):
        """Returns the `Hypotheses` of `Rows`."""
        rows = self.rows(rows)
        limits = [row.limit for row in rows]
        results = [None] * len(rows)
        # At first, all rows share the largest limit. Rows with an uncertain result are searched
        # again with their own limit, and then with longer and longer lists.
        beam, n_best = self.config.beam, self.config.n_best
        count = 1 if beam == 1 else PER_BEAM * beam + n_best - 1
        groups = {(max(limits), count): range(len(rows))}
        for _ in range(ROUNDS):
            uncertain = {}
            for (limit, count), members in groups.items():
                found = self.candidates([rows[i] for i in members], limit, count)
                for i, candidates in zip(members, found, strict=True):
                    results[i] = self.ranked(rows[i], candidates)
                    if not self.is_certain(candidates, results[i], limits[i], limit, count):
                        again = (limits[i], 2 * count if limit == limits[i] else count)
                        uncertain.setdefault(again, []).append(i)
            groups = uncertain
        return self.hypotheses(results)

    def rows(self, rows):
        """Returns a `Row` for each row of `Rows`."""
        sources = [row[row != PADDING] for row in rows.source]
        limits = [min(len(ids) + self.config.extra_length, self.longest) for ids in sources]
        if rows.prefix is None:
            return [Row(*each) for each in zip(sources, limits, strict=True)]
        prefixes = [
            row[row != PADDING][:limit] for row, limit in zip(rows.prefix, limits, strict=True)
        ]
        found = log_p(self.translator, self.pieces, sources, prefixes)
        log_ps = [float(np.sum(each, dtype="float64")) for each in found]
        return [Row(*each) for each in zip(sources, limits, prefixes, log_ps, strict=True)]

    def candidates(self, rows, limit, count):
        """Returns up to `count` pairs (ids, log P) for each row, with at most `limit` tokens."""
        results = self.translator.translate_batch(
            [self.pieces.source_of(row.source) for row in rows],
            target_prefix=[self.pieces.target_of(row.prefix) for row in rows],
            beam_size=self.config.beam,
            patience=count / self.config.beam,
            num_hypotheses=count,
            length_penalty=0,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            disable_unk=UNKNOWN in self.config.banned,
            return_scores=True,
            return_end_token=True,
        )
        return [
            [
                ([self.pieces.ids[piece] for piece in pieces], log_p)
                for pieces, log_p in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]

    def ranked(self, row, candidates):
        """Returns the n best pairs (score, ids) within the row's own limit.

        CTranslate2's log P does not include the prefix.
        """
        allowed = [
            ((log_p + row.prefix_log_p) / self.config.length_penalty(float(len(ids))), ids)
            for ids, log_p in candidates
            if len(ids) <= row.limit and not {PADDING, BEGIN} & set(ids)
        ]
        ended = [each for each in allowed if each[1][-1] == END]
        cut_off = [each for each in allowed if len(each[1]) == row.limit]
        best_first = sorted(ended or cut_off, key=lambda each: -each[0])
        return best_first[: self.config.n_best]

    def is_certain(self, candidates, best, own_limit, limit, count):
        """Whether the candidates show that `BeamSearch` would find the same hypotheses."""
        if limit != own_limit and not all(
            ids[-1] == END and len(ids) <= own_limit for ids, _ in candidates
        ):
            return False  # the search went beyond the row's own limit, or was cut off
        if self.config.beam == 1 or len(candidates) < count:
            return True  # greedy search has one result; a shorter list is complete
        longest = max((len(ids) for _, ids in best), default=own_limit)
        return len(best) == self.config.n_best and any(len(ids) > longest for ids, _ in candidates)

    def hypotheses(self, results):
        """Converts the pairs (score, ids) of each row to `Hypotheses`."""
        width = max((len(ids) for best in results for _, ids in best), default=1)
        shape = (len(results), self.config.n_best)
        tokens = np.full((*shape, width), PADDING, "int32")
        scores = np.full(shape, -np.inf, "float32")
        for row, best in enumerate(results):
            for rank, (score, ids) in enumerate(best):
                tokens[row, rank, : len(ids)], scores[row, rank] = ids, score
        return Hypotheses(tokens, scores)


def log_p(translator, pieces, sources, targets):
    """Returns log P of each token of each target.

    Args:
        translator: a `ctranslate2.Translator`.
        pieces: a `Pieces`.
        sources: lists of ids, including the end token.
        targets: lists of ids, including the end token unless they were cut off.
    """
    results = translator.score_batch(
        [pieces.source_of(source) for source in sources],
        [pieces.target_of(target[target != END]) for target in targets],
        max_input_length=0,
    )
    # CTranslate2 adds an end token to every target.
    pairs = zip(results, targets, strict=True)
    return [np.array(result.log_probs[: len(target)], "float32") for result, target in pairs]


def attention(translator, pieces, source, target):
    """Returns the weights `[target, source]` that align the words of a source and a target.

    The step that predicts the last token does not depend on that token, so only the other tokens
    are given, as a prefix. CTranslate2 omits the weight of the source's end token, which is 1 minus
    the sum of the other weights.
    """
    if len(source) == 1:  # CTranslate2 has no weights for an empty source
        return np.ones((len(target), 1), "float32")
    (result,) = translator.translate_batch(
        [pieces.source_of(source)],
        target_prefix=[pieces.target_of(target[:-1])],
        beam_size=1,
        max_input_length=0,
        max_decoding_length=len(target),
        min_decoding_length=len(target),
        return_attention=True,
        return_end_token=True,
    )
    weights = np.array(result.attention[0], "float32")[: len(target)]
    lead = len(source) - 1 - weights.shape[1]
    rest = np.maximum(1 - weights.sum(axis=1, keepdims=True), 0)
    return np.concatenate([np.zeros((len(weights), lead)), weights, rest], axis=1)
