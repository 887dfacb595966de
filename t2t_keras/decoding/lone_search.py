"""Search for one sentence without constraints, in as few operations as possible.

A step of a small model takes as long as a hundred NumPy operations. So this module implements the
steps of `BeamSearch` and `Greedy` again for a single sentence; beam_search.py and greedy.py say
what each does. It skips work that a step does not need: for example, most steps finish no
hypothesis. The results are bit-for-bit the same, which test_lone_search.py checks.
"""

import math

import numpy as np

from t2t_keras.decoding.constraints import IMPOSSIBLE
from t2t_keras.decoding.numpy_search import until_stage
from t2t_keras.decoding.rows import BEGIN, END, PADDING, Hypotheses, length_penalty
from t2t_keras.ops import on_numpy, top_k

SPARE = 8  # tokens of initial capacity beyond the source length
WIDEST = 32  # maximum beam; for more candidates, `top_k` orders ties differently


def lone_search(model, config, source, longest=None):
    """Returns the `Hypotheses` of one sentence, `[1, length]`, equal to those of `numpy_search`.

    The model's logits must be `Logits`. `config` may have no constraints, must not sample, and its
    beam is at most `WIDEST`.
    """
    limit = np.count_nonzero(source) + config.extra_length
    limit = limit if longest is None else min(limit, longest)
    room = until_stage(source.shape[1] + SPARE, longest)
    memory, cache = model.start_decoding(source, room, config.beam)
    steps = Steps(model, memory, cache, room, longest, config.beam)
    with on_numpy():
        tokens, scores = (greedy if config.beam == 1 else beam_search)(steps, config, limit)
    width = max(map(len, tokens))
    padded = [[*ids, *[PADDING] * (width - len(ids))] for ids in tokens]
    return Hypotheses(np.array([padded], "int32"), np.array([scores], "float32"))


class Steps:
    """The steps of a model for one sentence; `room` is the capacity of the cache in tokens."""

    def __init__(self, model, memory, cache, room, longest, beam):
        self.model, self.memory, self.cache = model, memory, cache
        self.room, self.longest, self.beam = room, longest, beam
        self.position, self.own = 0, np.eye(beam, dtype="bool")
        self.visible = np.zeros((1, beam, room * beam), "bool")

    def run(self, newest):
        """Runs a step on each hypothesis' last token. Returns the `top_tokens` of its `Logits`."""
        if self.position == self.room:
            self.room = until_stage(self.room + 1, self.longest)
            self.cache = self.model.extend_cache(self.cache, self.room, self.beam)
            more = self.room * self.beam - self.visible.shape[2]
            self.visible = np.pad(self.visible, [(0, 0), (0, 0), (0, more)])
        first = self.position * self.beam
        self.visible[0, :, first : first + self.beam] = self.own
        logits, self.cache = self.model.decode_step(
            newest, self.position, self.cache, self.memory, self.visible
        )
        self.position += 1
        return logits.top_tokens

    def top_token(self, newest):
        """Runs a step of the only hypothesis and returns log P and id of the likeliest token."""
        values, ids, normalizer = top_tokens = self.run([newest])
        # They are in descending order, and at most two of them are padding and begin tokens.
        place = next((place for place, id in enumerate(ids[0].tolist()) if id > BEGIN), 0)
        log_p = values[0, place] - normalizer[0]
        if math.isfinite(log_p):
            return log_p, int(ids[0, place])
        log_p, ids = allowed_log_p(*top_tokens, 1)  # some logits are infinite or NaN
        place = log_p[0].argmax()
        return log_p[0, place], int(ids[0, place])


def allowed_log_p(values, ids, normalizer, count):
    """Returns log P and ids of `count` top tokens. Padding and the begin token are impossible."""
    values, ids = values[:, : count + 2], ids[:, : count + 2]
    allowed = ids > BEGIN
    if not allowed.all():
        values = np.where(allowed, values, np.float32(IMPOSSIBLE))
    return values - normalizer[:, None], ids


def greedy(steps, config, limit):
    """Returns the tokens and the score of the only hypothesis, as `Greedy` finds it."""
    tokens, score, newest = [], np.float32(0), BEGIN
    while steps.position < limit and newest != END:
        log_p, newest = steps.top_token(newest)
        score += log_p
        tokens.append(newest)
    return [tokens], score / length_penalty(np.array([len(tokens)]), config)


def beam_search(steps, config, limit):
    """Returns the tokens and the scores of the best hypotheses, as `BeamSearch` finds them."""
    beam, stopping, worst = config.beam, config.stopping, config.n_best - 1
    live, written = np.full(beam, IMPOSSIBLE, "float32"), [[]] * beam
    finished, outputs = live.copy(), [[]] * beam
    live[0], newest = 0, np.full(beam, BEGIN, "int32")
    penalty = length_penalty(np.array(limit), config)
    while steps.position < limit and live[0] > IMPOSSIBLE:
        if stopping == "patience" and finished[-1] > IMPOSSIBLE:
            break
        if stopping == "first":
            penalty = length_penalty(np.array(steps.position), config)
        if stopping != "patience" and not live[0] / penalty > finished[worst]:
            break
        log_p, ids = allowed_log_p(*steps.run(newest), 2 * beam)  # [beam, 2 · beam]
        log_p += live[:, None]
        scores, chosen = top_k(log_p.ravel(), min(2 * beam, log_p.size))
        parents, newest = chosen // log_p.shape[1], ids.ravel()[chosen]
        at_limit, is_end = steps.position == limit, newest == END
        if at_limit or is_end.any():
            ends = is_end & (scores > IMPOSSIBLE)
            ends[beam:] = False
            if at_limit and not ends.any() and finished[0] == IMPOSSIBLE:
                ends[:beam] = True
            ended = np.where(
                ends, scores / length_penalty(np.array(steps.position), config), IMPOSSIBLE
            )
            both = np.concatenate([finished, ended.astype("float32")])
            new = [[*written[p], t] for p, t in zip(parents.tolist(), newest.tolist(), strict=True)]
            finished, best = top_k(both, beam)
            outputs = [[*outputs, *new][index] for index in best]
            scores = np.where(is_end | at_limit, np.float32(IMPOSSIBLE), scores)
            live, chosen = top_k(scores, beam)
            parents, newest = parents[chosen], newest[chosen]
        else:
            live, parents, newest = scores[:beam], parents[:beam], newest[:beam]
        written = [[*written[p], t] for p, t in zip(parents.tolist(), newest.tolist(), strict=True)]
        steps.visible = steps.visible.take(parents, axis=1)
    return outputs[: config.n_best], finished[: config.n_best]
