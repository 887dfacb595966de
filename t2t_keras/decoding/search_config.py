"""Settings of the search."""

import dataclasses
import json

from pipelines.checks import check, setting, validate

# {setting that may differ from row to row, see `beam_search.py`: its dtype}
ROW_OPTIONS = {"beam": "int32", "n_best": "int32", "alpha": "float32", "no_repeat_ngram": "int32"}


@dataclasses.dataclass
class SearchConfig:
    """Settings of the search (§6.1). Tokens are ids.

    Args:
        method: "beam" for beam search, "sample" to draw tokens according to their probability, or
            a search method of a plug-in file.
        beam: beam width; 1 is greedy search. The paper: 4; parsing: 21.
        alpha: exponent α of the length penalty; 0 is no penalty. The paper: 0.6; parsing: 0.3.
        penalty: length penalty by which log P is divided: "gnmt", ((5 + length) / 6)^α, as in the
            paper; or "marian", length^α, as in Marian, Hugging Face and CTranslate2.
        extra_length: maximum length of an output beyond its source, in tokens. The paper: 50;
            parsing: 300.
        n_best: hypotheses returned for each sentence; in sampling, hypotheses drawn.
        stopping: when a beam search stops: "exact", when no other hypothesis can become one of the
            `n_best` best; "first", when no live hypothesis would be one of them if it ended now;
            "patience", when `beam` hypotheses have ended, as in CTranslate2 and fairseq.
        temperature: divisor of the logits in sampling; below 1 favors likely tokens.
        top_k: number of most likely tokens that sampling draws from; 0: all.
        top_p: minimum total probability of the tokens that sampling draws from: as few as possible,
            the most likely ones; 1: all.
        seed: random seed for sampling. A sample depends only on it and on the line's index.
        banned: tokens that an output must not contain.
        first: tokens that an output may begin with; empty: all.
        no_repeat_ngram: length in tokens of n-grams that an output may contain only once; 0: no
            constraint.
        constrain: constraint on the outputs of a parser: "tree" for trees over the words of their
            sentences, "" for none.
    """

    # `group`: "sampling" for settings that only affect sampling, "constraint" for settings that
    # forbid outputs. Maximum values are far beyond any use, so that settings from other sources
    # cannot exhaust the memory; the length penalty must fit into a float32.
    method: str = "beam"
    beam: int = setting(4, at_least=1, at_most=1000)
    alpha: float = setting(0.6, at_least=0, at_most=10)
    penalty: str = setting("gnmt", choices=("gnmt", "marian"))
    extra_length: int = setting(50, at_least=0, at_most=10_000)
    n_best: int = setting(1, at_least=1, at_most=100_000)
    stopping: str = setting("exact", choices=("exact", "first", "patience"))
    temperature: float = setting(1.0, group="sampling", above=0)
    top_k: int = setting(0, group="sampling", at_least=0)
    top_p: float = setting(1.0, group="sampling", above=0, at_most=1)
    seed: int = setting(0, group="sampling", at_least=0)
    banned: tuple[int, ...] = setting((), group="constraint", at_least=0)
    first: tuple[int, ...] = setting((), group="constraint", at_least=0)
    no_repeat_ngram: int = setting(0, group="constraint", at_least=0, at_most=100)
    constrain: str = setting("", group="constraint", choices=("", "tree"))

    @property
    def constrained(self):
        """Whether the settings forbid more tokens than padding and begin."""
        return bool(self.banned or self.first or self.no_repeat_ngram)

    def changed(self, **changes):
        """Returns a copy with changes. Changing only `beam` also limits `n_best` to the beam."""
        config = dataclasses.replace(self, **changes)
        if "beam" in changes and "n_best" not in changes:
            config.n_best = min(config.n_best, max(config.beam, 1))
        return config

    def greedy(self):
        """Returns the settings of greedy search."""
        return self.changed(beam=1, n_best=1, constrain="")

    def length_penalty(self, length, alpha=None):
        """Returns the length penalty of a length in tokens, including the end token, at least 1.

        `alpha` replaces the setting unless it is None.
        """
        alpha = self.alpha if alpha is None else alpha
        return (length if self.penalty == "marian" else (5.0 + length) / 6.0) ** alpha

    def validate(self):
        """Raises `ValueError` for the first invalid setting.

        The name of the method is checked where it is used, in search.py: a SavedModel contains its
        search, so nothing else must know it.
        """
        validate(self)
        allowed = "ids other than 2, which ends every output"
        check(2 not in self.banned, "banned", self.banned, allowed)
        can_begin = not self.first or not {*self.first} <= {*self.banned, 0, 1}
        allowed = "an id that is neither banned nor padding nor begin"
        check(can_begin, "first", self.first, allowed)
        if self.constrain:
            for name in ("banned", "first", "no_repeat_ngram"):
                value, allowed = getattr(self, name), f"left out if constrain={self.constrain!r}"
                check(not value, name, value, allowed)
        if self.method == "beam":
            allowed = f"at most the beam width, beam={self.beam}"
            check(self.n_best <= self.beam, "n_best", self.n_best, allowed)


# {setting: its maximum value}
MOST = {
    field.name: field.metadata["at_most"]
    for field in dataclasses.fields(SearchConfig)
    if "at_most" in field.metadata
}


def settings_in(group):
    """Returns the names of the settings in a group."""
    fields = dataclasses.fields(SearchConfig)
    return tuple(field.name for field in fields if field.metadata.get("group") == group)


def as_recorded(settings):
    """Returns all settings as a dict of JSON types. Settings that a record lacks get defaults."""
    if isinstance(settings, SearchConfig):
        settings = dataclasses.asdict(settings)
    return json.loads(json.dumps({**dataclasses.asdict(SearchConfig()), **settings}))
