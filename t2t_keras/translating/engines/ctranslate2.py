"""The engine of a CTranslate2 folder that t2t-export wrote.

CTranslate2 ranks hypotheses by log P and returns the n best. If this list is long enough, applying
our length penalty and length limits yields the hypotheses that `BeamSearch` finds.
`export/how_to_match_ctranslate2.md` says when results may differ.

Neither this module nor its imports load TensorFlow or Keras, so a command translates the first line
after little more than a second.
"""

import numpy as np

from t2t_keras.decoding.rows import BEGIN, END, PADDING, Hypotheses
from t2t_keras.decoding.search_config import ROW_OPTIONS
from t2t_keras.export.ctranslate2_package import POSITIONS, UNKNOWN, import_ctranslate2
from t2t_keras.processor import cores
from t2t_keras.translating.engines.engine import Engine
from t2t_keras.translating.exports import EXPORT_AGAIN

# CTranslate2 stops after this many hypotheses per place in the beam. A sentence whose result is
# uncertain is searched again, with twice as many hypotheses each time.
PER_BEAM = 2
ROUNDS = 5  # maximum number of searches for a sentence
FORBIDDING = ("banned", "first", "no_repeat_ngram", "constrain")  # settings that forbid tokens


class CTranslate2Engine(Engine):
    """Translates with CTranslate2; results as of `BeamSearch`, but see `export/README.md`."""

    kind = "ctranslate2"
    batch_tokens = 1024  # CTranslate2 keeps the caches of all beams at once
    offers = tuple(name for name in ROW_OPTIONS if name not in FORBIDDING)

    def __init__(self, folder):
        self.open(folder)
        self.model = PieceModel(load_ctranslate2(self.folder), self.tokenizer)

    def check(self, config, prefix, phrases):
        """Rejects a search whose results CTranslate2 cannot reproduce exactly."""
        if phrases:
            raise ValueError(
                "this model cannot search for required phrases: --glossary and --require do not "
                "work with CTranslate2. Give the run"
            )
        if config.method == "sample":
            raise ValueError(
                "--sample does not work with CTranslate2, which draws other random numbers. "
                "Give the run"
            )
        if config.method != "beam":
            raise ValueError(
                f"--method={config.method} does not work with CTranslate2, which has beam search "
                "only. Give the run"
            )
        if config.stopping == "first":
            raise ValueError(
                "--stopping=first does not work with CTranslate2. Its own rule is "
                "--stopping=patience; --stopping=exact gives the same translations as the run"
            )
        allowed = {PADDING, BEGIN, UNKNOWN}  # these can be banned
        for name in FORBIDDING:
            value = getattr(config, name)
            if set(value) - allowed if name == "banned" else value:
                raise ValueError(
                    f"--{name} does not work with CTranslate2: it divides the probability of "
                    "forbidden tokens among the others, so its search finds other translations. "
                    "Give the run"
                )

    def search(self, rows):
        sources = [row[row != PADDING] for row in rows.source]
        longest = min(self.longest or POSITIONS, POSITIONS)
        limits = [min(len(ids) + self.config.extra_length, longest) for ids in sources]
        prefixes, before = [()] * len(sources), [0.0] * len(sources)  # before: log P of the prefix
        if rows.prefix is not None:
            limited = zip(rows.prefix, limits, strict=True)
            prefixes = [row[row != PADDING][:limit] for row, limit in limited]
            log_p = self.model.log_p(sources, prefixes)
            before = [float(np.sum(each, dtype="float64")) for each in log_p]
        results = [[]] * len(sources)
        # At first, all rows share the largest limit. Rows with an uncertain result are searched
        # again with their own limit, and then with longer and longer lists.
        count, n_best = self.config.beam, self.config.n_best
        if count > 1 and self.config.stopping == "exact":
            count = PER_BEAM * count + n_best - 1
        groups = {(max(limits), count): range(len(sources))}
        for _ in range(ROUNDS):
            uncertain = {}
            for (limit, count), members in groups.items():
                own = [[column[i] for i in members] for column in (sources, prefixes)]
                found = self.model.candidates(*own, self.config, limit, count)
                for i, candidates in zip(members, found, strict=True):
                    results[i] = self.ranked(candidates, limits[i], before[i])
                    if not self.is_certain(candidates, results[i], limits[i], limit, count):
                        again = (limits[i], 2 * count if limit == limits[i] else count)
                        uncertain.setdefault(again, []).append(i)
            groups = uncertain
        width = max((len(ids) for best in results for _, ids in best), default=1)
        tokens = np.full((len(results), n_best, width), PADDING, "int32")
        scores = np.full((len(results), n_best), -np.inf, "float32")
        for row, best in enumerate(results):
            for rank, (score, ids) in enumerate(best):
                tokens[row, rank, : len(ids)], scores[row, rank] = ids, score
        return Hypotheses(tokens, scores)

    def ranked(self, candidates, limit, before=0.0):
        """Returns the n best pairs (score, ids) within the row's own limit.

        CTranslate2's log P does not include the prefix, whose log P is `before`.
        """
        allowed = [
            ((log_p + before) / self.config.length_penalty(float(len(ids))), ids)
            for ids, log_p in candidates
            if len(ids) <= limit and not {PADDING, BEGIN} & set(ids)
        ]
        ended = [each for each in allowed if each[1][-1] == END]
        cut_off = [each for each in allowed if len(each[1]) == limit]
        best_first = sorted(ended or cut_off, key=lambda each: -each[0])
        return best_first[: self.config.n_best]

    def is_certain(self, candidates, best, own_limit, limit, count):
        """Whether the candidates show that `BeamSearch` would find the same hypotheses."""
        if limit != own_limit and not all(
            ids[-1] == END and len(ids) <= own_limit for ids, _ in candidates
        ):
            return False  # the search went beyond the row's own limit, or was cut off
        if self.config.beam == 1 or self.config.stopping == "patience":
            return True  # greedy search has one result, and the other rule is CTranslate2's own
        if len(candidates) < count:
            return True  # a shorter list is complete
        longest = max((len(ids) for _, ids in best), default=own_limit)
        return len(best) == self.config.n_best and any(len(ids) > longest for ids, _ in candidates)

    def log_p(self, source, target):
        sides = [[row[row != PADDING] for row in ids] for ids in (source, target)]
        return self.model.log_p(*sides)

    def attention(self, source, target):
        weights = [
            self.model.attention(*(ids[ids != PADDING] for ids in row))
            for row in zip(source, target, strict=True)
        ]
        if (self.record["alignment"] or {}).get("shifted"):
            weights = [np.concatenate([each[1:], each[-1:]]) for each in weights]
        return weights


def load_ctranslate2(folder):
    """Returns the `ctranslate2.Translator` of a folder, which uses all cores of this process."""
    ctranslate2 = import_ctranslate2("Translating with a CTranslate2 folder")
    try:
        return ctranslate2.Translator(str(folder), device="cpu", intra_threads=cores())
    except (RuntimeError, ValueError, MemoryError) as error:
        raise ValueError(
            f"{folder} cannot be loaded by CTranslate2 ({error}). {EXPORT_AGAIN}"
        ) from error


class PieceModel:
    """Computes with ids by a `ctranslate2.Translator`, which takes and returns pieces."""

    def __init__(self, translator, tokenizer):
        self.translator, sides = translator, (tokenizer.source, tokenizer.target)
        self.source, self.target = (side.pieces(range(side.size)) for side in sides)
        self.ids = {piece: id for id, piece in enumerate(self.target)}

    def source_of(self, ids):
        """Returns the pieces of a source without begin and end tokens, which CTranslate2 adds."""
        ids = ids[:-1]
        return [self.source[id] for id in (ids[1:] if len(ids) and ids[0] == BEGIN else ids)]

    def target_of(self, ids):
        return [self.target[id] for id in ids]

    def candidates(self, sources, prefixes, config, limit, count):
        """Returns up to `count` pairs (ids, log P) for each source, with at most `limit` tokens."""
        results = self.translator.translate_batch(
            [self.source_of(ids) for ids in sources],
            target_prefix=[self.target_of(ids) for ids in prefixes],
            beam_size=config.beam,
            patience=count / config.beam,
            num_hypotheses=count,
            # At 0, a search ends after `count` hypotheses only if the likeliest candidate of some
            # step has also ended. The other penalty changes no score.
            length_penalty=0 if config.stopping == "exact" else 1e-30,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            disable_unk=UNKNOWN in config.banned,
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

    def log_p(self, sources, targets):
        """Returns log P of each token of each target.

        Args:
            sources: lists of ids, including the end token.
            targets: arrays of ids, including the end token unless they were cut off.
        """
        results = self.translator.score_batch(
            [self.source_of(source) for source in sources],
            [self.target_of(target[target != END]) for target in targets],
            max_input_length=0,
        )
        # CTranslate2 adds an end token to every target.
        pairs = zip(results, targets, strict=True)
        return [np.array(result.log_probs[: len(target)], "float32") for result, target in pairs]

    def attention(self, source, target):
        """Returns the weights `[target, source]` that align the words of a source and a target.

        The step that predicts the last token does not depend on that token, so only the other
        tokens are given, as a prefix. CTranslate2 omits the weight of the source's end token, which
        is 1 minus the sum of the other weights.
        """
        if len(source) == 1:  # CTranslate2 has no weights for an empty source
            return np.ones((len(target), 1), "float32")
        (result,) = self.translator.translate_batch(
            [self.source_of(source)],
            target_prefix=[self.target_of(target[:-1])],
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
