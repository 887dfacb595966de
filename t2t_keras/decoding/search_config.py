"""How translations are searched for."""

import dataclasses

from t2t_keras.checks import check, check_integer


@dataclasses.dataclass
class SearchConfig:
    """Settings of the search (§6.1).

    Args:
        beam: hypotheses that are pursued at a time. 1: greedy. The paper: 4; parsing: 21.
        alpha: of the length penalty. 0: none. The paper: 0.6; parsing: 0.3.
        extra_length: tokens that an output may have more than its source. The paper: 50;
            parsing: 300.
        n_best: how many hypotheses are wanted.
        early_stopping: end as soon as no live hypothesis can come to be among the best. The
            results are the same without.
    """

    beam: int = 4
    alpha: float = 0.6
    extra_length: int = 50
    n_best: int = 1
    early_stopping: bool = True

    def validate(self):
        """Raises `ValueError` for the first wrong setting."""
        check_integer("beam", self.beam)
        check_integer("n_best", self.n_best)
        check_integer("extra_length", self.extra_length, at_least=0)
        number = isinstance(self.alpha, (int, float)) and not isinstance(self.alpha, bool)
        check(number and self.alpha >= 0, "alpha", self.alpha, "a number of at least 0")
        check(
            self.n_best <= self.beam,
            "n_best",
            self.n_best,
            f"at most the number of hypotheses, beam={self.beam}",
        )
