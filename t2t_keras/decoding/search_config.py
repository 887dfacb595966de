"""How translations are searched for."""

import dataclasses

from t2t_keras.checks import check, check_choice, check_integer


@dataclasses.dataclass
class SearchConfig:
    """Settings of the search (§6.1).

    Args:
        method: "beam", or "sample": tokens are drawn at random by their probability.
        beam: hypotheses that are pursued at a time. 1: greedy. The paper: 4; parsing: 21.
        alpha: of the length penalty. 0: none. The paper: 0.6; parsing: 0.3.
        extra_length: tokens that an output may have more than its source. The paper: 50;
            parsing: 300.
        n_best: how many hypotheses are wanted. Sampling draws so many.
        early_stopping: end as soon as no live hypothesis can come to be among the best. The
            results are the same without.
        temperature: sampling divides the logits by it.
        top_k: sampling draws among so many of the likeliest tokens. 0: among all.
        top_p: sampling draws among the likeliest tokens that together have this probability.
        seed: of sampling. The sample of a line depends on it and on the line's number alone.
        banned: ids that are never written.
        first: ids of which an output must begin with one. Empty: it may begin with any.
        no_repeat_ngram: no sequence of so many tokens is written twice. 0: it may be.
    """

    method: str = "beam"
    beam: int = 4
    alpha: float = 0.6
    extra_length: int = 50
    n_best: int = 1
    early_stopping: bool = True
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    banned: tuple[int, ...] = ()
    first: tuple[int, ...] = ()
    no_repeat_ngram: int = 0

    @property
    def constrained(self):
        """Whether something is forbidden that usually is not."""
        return bool(self.banned or self.first or self.no_repeat_ngram)

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        check_choice("method", self.method, ("beam", "sample"))
        check_integer("beam", self.beam)
        check_integer("n_best", self.n_best)
        for name in ("extra_length", "top_k", "seed", "no_repeat_ngram"):
            check_integer(name, getattr(self, name), at_least=0)
        for name in ("alpha", "temperature", "top_p"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            check(number and value >= 0, name, value, "a number of at least 0")
        check(self.temperature > 0, "temperature", self.temperature, "more than 0")
        check(0 < self.top_p <= 1, "top_p", self.top_p, "more than 0 and at most 1")
        for name in ("banned", "first"):
            for token in getattr(self, name):
                check_integer(name, token, at_least=0)
        check(2 not in self.banned, "banned", self.banned, "without 2, the end of every output")
        if self.method == "beam":
            check(
                self.n_best <= self.beam,
                "n_best",
                self.n_best,
                f"at most the number of hypotheses, beam={self.beam}",
            )
