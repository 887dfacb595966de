"""Our search, computed by CTranslate2, for a folder written by `save_ctranslate2`.

CTranslate2 ranks hypotheses by log P and returns the n best. From a long enough list, our length
penalty and our length limits select the hypotheses that our own search finds. README.md in this
folder says when the two may differ. This file loads neither Keras nor TensorFlow.
"""

import os

import numpy as np

from t2t_keras.decoding.special_ids import BEGIN, END, PADDING

UNKNOWN = 3
# CTranslate2 stores sinusoids as a table of fixed size: twice the length of our longest source.
POSITIONS = 2048
# CTranslate2 stops after so many hypotheses for each beam. A sentence whose result is uncertain is
# searched again, with twice as many each time, in so many rounds at most.
PER_BEAM = 2
ROUNDS = 5


def import_ctranslate2(purpose):
    """Imports the package ctranslate2, an optional dependency.

    Args:
        purpose: what it is needed for, at the beginning of an error message.
    """
    try:
        import ctranslate2
    except ImportError as error:
        raise ValueError(
            f"{purpose} needs the package ctranslate2, which is not installed. "
            'Install it: pip install "t2t-keras[ctranslate2]"'
        ) from error
    return ctranslate2


def cores():
    """Returns the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def load_ctranslate2(folder):
    """Returns the `ctranslate2.Translator` of a folder, which uses all cores of this process."""
    ctranslate2 = import_ctranslate2("Translating with a CTranslate2 folder")
    try:
        return ctranslate2.Translator(str(folder), device="cpu", intra_threads=cores())
    except (RuntimeError, ValueError, MemoryError) as error:
        raise ValueError(
            f"{folder} cannot be loaded by CTranslate2 ({error}). Export the run again with "
            "t2t-export --format=ctranslate2 --force"
        ) from error


def check_search(config):
    """Rejects search settings that CTranslate2 cannot follow exactly."""
    if config.method == "sample":
        raise ValueError(
            "--sample does not work with CTranslate2, which draws other random numbers. "
            "Give the run"
        )
    unsupported = {
        "banned": set(config.banned) - {PADDING, BEGIN, UNKNOWN},
        "first": config.first,
        "no_repeat_ngram": config.no_repeat_ngram,
        "constrain": config.constrain,
    }
    for name, value in unsupported.items():
        if value:
            raise ValueError(
                f"--{name} does not work with CTranslate2: it divides the probability of forbidden "
                "tokens among the others, so its search finds other translations. Give the run"
            )


class CTranslate2Search:
    """A function from source ids to hypotheses, as `Translator` needs it.

    Args:
        translator: a `ctranslate2.Translator`.
        source_pieces, target_pieces: the text of each id.
        config: a `SearchConfig`.
        longest: maximum tokens of an output, including its end. None: no maximum.
    """

    def __init__(self, translator, source_pieces, target_pieces, config, longest=None):
        check_search(config)
        self.translator, self.config = translator, config
        self.longest = min(longest or POSITIONS, POSITIONS)
        self.pieces = source_pieces
        self.ids = {piece: id for id, piece in enumerate(target_pieces)}

    def __call__(self, source, indices=None, prefix=None):
        """Returns tokens `[rows, n_best, length]` and scores `[rows, n_best]`; −∞ is missing.

        Args:
            source: ids `[rows, source_length]`: tokens, end, padding.
            indices, prefix: see `Translator`; there are no prefixes.
        """
        rows = [row[row != PADDING] for row in source]
        limits = [min(len(row) + self.config.extra_length, self.longest) for row in rows]
        results = [None] * len(rows)
        # At first, all rows share the largest limit. Rows with an uncertain result are searched
        # again with their own limit, then for longer and longer lists.
        beam, n_best = self.config.beam, self.config.n_best
        count = 1 if beam == 1 else PER_BEAM * beam + n_best - 1
        groups = {(max(limits), count): range(len(rows))}
        for _ in range(ROUNDS):
            uncertain = {}
            for (limit, count), members in groups.items():
                found = self.candidates([rows[i] for i in members], limit, count)
                for i, candidates in zip(members, found, strict=True):
                    results[i] = self.ranked(candidates, limits[i])
                    if not self.is_certain(candidates, results[i], limits[i], limit, count):
                        again = (limits[i], 2 * count if limit == limits[i] else count)
                        uncertain.setdefault(again, []).append(i)
            groups = uncertain
        return self.arrays(results)

    def candidates(self, rows, limit, count):
        """Returns for each row up to `count` pairs of ids and log P, found within a limit."""
        results = self.translator.translate_batch(
            [self.text(row) for row in rows],
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
                ([self.ids[piece] for piece in pieces], log_p)
                for pieces, log_p in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]

    def text(self, row):
        """Returns a row's pieces without the begin and end that CTranslate2 adds itself."""
        ids = row[:-1]
        return [self.pieces[id] for id in (ids[1:] if len(ids) and ids[0] == BEGIN else ids)]

    def ranked(self, candidates, limit):
        """Returns the n best pairs of score and ids, within a row's own limit."""
        allowed = [
            (log_p / self.config.length_penalty(float(len(ids))), ids)
            for ids, log_p in candidates
            if len(ids) <= limit and not {PADDING, BEGIN} & set(ids)
        ]
        ended = [each for each in allowed if each[1][-1] == END]
        cut_off = [each for each in allowed if len(each[1]) == limit]
        best_first = sorted(ended or cut_off, key=lambda each: -each[0])
        return best_first[: self.config.n_best]

    def is_certain(self, candidates, best, own_limit, limit, count):
        """Whether our search would find the same hypotheses, as far as the list shows it."""
        if limit != own_limit and not all(
            ids[-1] == END and len(ids) <= own_limit for ids, _ in candidates
        ):
            return False  # the search ended too late, or would have been cut off earlier
        if self.config.beam == 1 or len(candidates) < count:
            return True  # greedy search has a single result; a shorter list has all there are
        longest = max((len(ids) for _, ids in best), default=own_limit)
        return len(best) == self.config.n_best and any(len(ids) > longest for ids, _ in candidates)

    def arrays(self, results):
        """Returns the tokens and scores of lists of pairs of score and ids."""
        width = max((len(ids) for best in results for _, ids in best), default=1)
        shape = (len(results), self.config.n_best)
        tokens = np.full((*shape, width), PADDING, "int32")
        scores = np.full(shape, -np.inf, "float32")
        for row, best in enumerate(results):
            for rank, (score, ids) in enumerate(best):
                tokens[row, rank, : len(ids)], scores[row, rank] = ids, score
        return tokens, scores
