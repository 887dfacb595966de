"""The rules that drop sentence pairs.

To add a rule, add a field to `CleaningConfig` and an entry to `RULES`.
"""

from collections.abc import Callable
from typing import NamedTuple

from pipelines.languages.language_identification import LanguageIdentifier
from pipelines.languages.scripts import share_in_script
from pipelines.text.cleaning_config import CleaningConfig
from pipelines.text.noise_rules import (
    count_words,
    digit_similarity,
    has_tag,
    is_repetitive,
    link_difference,
    longest_word,
    mean_word,
    sentence_difference,
    share_of_letters,
    share_of_links,
    similarity,
    word_ratio,
)
from pipelines.text.normalization import Normalization


class Cleaning(NamedTuple):
    """All that decides about a pair.

    Args:
        config: a `CleaningConfig`.
        normalization: the `Normalization` of every text.
        languages: the codes of the two languages, or () if no rule needs them.
    """

    config: CleaningConfig
    normalization: Normalization
    languages: tuple = ()

    @classmethod
    def of(cls, config, normalization=None, languages=()):
        """Returns a `Cleaning` with the config's normalization, unless another one is given.

        Raises `ValueError` if a rule needs the languages and they are unknown.
        """
        if config.needs_languages() and len(languages or ()) != 2:
            name = "other_language" if config.other_language else "min_script"
            raise ValueError(
                f"`{name}` needs the languages of both sides: --languages=en,de, or files named "
                "after them, such as train.en and train.de"
            )
        used = tuple(languages) if config.needs_languages() else ()
        return cls(config, normalization or config.normalization(), used)

    def rules(self):
        """Returns the rules for single pairs that are on, as (name, function, setting)."""
        active = []
        for rule in RULES:
            setting = getattr(self.config, rule.name, True)  # the rule for scores has no setting
            if rule.drops and setting:
                if rule.with_languages:
                    setting = rule.with_languages(setting, self.languages)
                active.append((rule.name, rule.drops, setting))
        return active


class Pair(NamedTuple):
    """A normalized sentence pair, with the properties that the rules test."""

    source: str
    target: str
    shorter: int  # length of the shorter side, in characters
    longer: int  # length of the longer side, in characters
    is_utf8: bool  # whether both sides were valid UTF-8
    is_good: bool = True  # whether its score is high enough, see `scored_pairs.py`


class Rule(NamedTuple):
    """A rule that drops pairs.

    Args:
        name: the field of `CleaningConfig` that turns the rule on, and the key of its count.
        reason: description of the dropped pairs in the report.
        drops: function of (`Pair`, setting) that returns whether to drop the pair. None for the
            rule that compares pairs with each other, see `Seen`.
        with_languages: function of (setting, languages) that returns the setting for `drops`, or
            None if the rule does not depend on the languages.
    """

    name: str
    reason: str
    drops: Callable | None
    with_languages: Callable | None = None


def either_side(test):
    """Returns a function for `Rule.drops` from a function of (text, setting)."""
    return lambda pair, setting: test(pair.source, setting) or test(pair.target, setting)


def too_few_in_script(pair, setting):
    share, languages = setting
    texts = zip((pair.source, pair.target), languages, strict=True)
    return any(share_in_script(text, language) < share for text, language in texts)


def in_other_language(pair, identifiers):
    texts = zip((pair.source, pair.target), identifiers, strict=True)
    return any(identifier.is_other(text) for text, identifier in texts)


# In order of application, fast ones first. A pair is counted for the first rule that drops it.
RULES = (
    Rule("invalid_utf8", "not UTF-8", lambda pair, _: not pair.is_utf8),
    Rule("empty", "empty side", lambda pair, _: not pair.shorter),
    Rule("max_characters", "too long", lambda pair, limit: pair.longer > limit),
    Rule(
        "max_ratio",
        "lengths too different",
        lambda pair, limit: pair.longer > limit * max(pair.shorter, 20),
    ),
    Rule("identical", "source = target", lambda pair, _: pair.source == pair.target),
    Rule("max_words", "too many words", either_side(lambda text, n: count_words(text) > n)),
    Rule(
        "max_word_ratio",
        "numbers of words too different",
        lambda pair, limit: word_ratio(pair) > limit,
    ),
    Rule("max_word_length", "a word too long", either_side(lambda text, n: longest_word(text) > n)),
    Rule("max_mean_word", "words too long", either_side(lambda text, n: mean_word(text) > n)),
    Rule("html_tags", "tags", either_side(lambda text, _: has_tag(text))),
    Rule("links", "different links", lambda pair, _: link_difference(pair) > 0),
    Rule("max_links", "mostly links", either_side(lambda text, most: share_of_links(text) > most)),
    Rule("min_digits", "different numbers", lambda pair, least: digit_similarity(pair) < least),
    Rule(
        "max_end_difference",
        "different numbers of sentences",
        lambda pair, limit: sentence_difference(pair) > limit,
    ),
    Rule(
        "min_letters",
        "too few letters",
        either_side(lambda text, least: share_of_letters(text) < least),
    ),
    Rule(
        "min_script",
        "wrong script",
        too_few_in_script,
        with_languages=lambda share, languages: (share, languages),
    ),
    Rule("max_similarity", "nearly copied", lambda pair, most: similarity(pair) > most),
    Rule("max_repetitions", "repetitions", either_side(is_repetitive)),
    Rule(
        "other_language",
        "wrong language",
        in_other_language,
        with_languages=lambda _, languages: [LanguageIdentifier(code) for code in languages],
    ),
    Rule("low_score", "low score", lambda pair, _: not pair.is_good),
    Rule("duplicates", "duplicates", None),
)
