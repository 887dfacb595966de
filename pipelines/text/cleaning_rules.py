"""The rules that drop sentence pairs.

To add a rule to this package, add a field to `CleaningConfig` and an entry to `RULES`. A plug-in
file adds only the entry, and `CleaningConfig.rules` turns it on.
"""

import difflib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pipelines.checks import failure_of, place_of
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
        settings, names = check_rules(config), []
        for name, rule in RULES.items():
            if rule.with_languages and settings.get(name):
                names.append(name)
        if names and len(languages or ()) != 2:
            raise ValueError(
                f"`{names[-1]}` needs the languages of both sides: --languages=en,de, or files "
                "named after them, such as train.en and train.de"
            )
        used = tuple(languages) if names else ()
        return cls(config, normalization or config.normalization(), used)

    def rules(self):
        """Returns the rules for single pairs that are on, as (name, function, setting)."""
        settings, active = self.config.settings() | {"low_score": True}, []
        for name, rule in RULES.items():
            setting = settings.get(name)
            if rule.drops and setting:
                if rule.with_languages:
                    setting = rule.with_languages(setting, self.languages)
                drops = rule.drops if name in BUILT_IN else checked(name, rule.drops)
                active.append((name, drops, setting))
        return active


def check_rules(config):
    """Returns the settings of all rules. Raises `ValueError` for an unknown name in `rules`."""
    own = [name for name in RULES if name not in BUILT_IN]
    for name in config.own_settings():
        if name in BUILT_IN:
            raise ValueError(
                f"`rules` names rules of plug-in files; {name!r} has a setting of its own, "
                f"data.cleaning.{name}"
            )
        if name not in RULES:
            close = difflib.get_close_matches(name, own, n=1)
            raise ValueError(
                "`rules` must name entries that a plug-in file, --imports=FILE, added to RULES: "
                f"{', '.join(own) or 'there are none'}"
                f"{f' (did you mean {close[0]!r}?)' if close else ''}. Received: {name!r}"
            )
        rule = RULES[name]
        if name in RESERVED or not isinstance(rule, Rule) or not callable(rule.drops):
            raise ValueError(
                f"RULES[{name!r}] must be Rule('reason', function of (pair, setting)), and not be "
                f"named {', '.join(RESERVED[:-1])} or {RESERVED[-1]}. Received: {rule!r}"
            )
    return config.settings()


class Pair(NamedTuple):
    """A normalized sentence pair, with the properties that the rules test."""

    source: str
    target: str
    shorter: int  # length of the shorter side, in characters
    longer: int  # length of the longer side, in characters
    is_utf8: bool  # whether both sides were valid UTF-8
    is_good: bool = True  # whether its score is high enough, see `scored_pairs.py`


class Rule(NamedTuple):
    """A rule that drops pairs. Its setting is off if it is False or 0.

    Args:
        reason: description of the dropped pairs in the report.
        drops: function of (`Pair`, setting) that returns whether to drop the pair. None for the
            rule that compares pairs with each other, see `Seen`.
        with_languages: function of (setting, languages) that returns the setting for `drops`, or
            None if the rule does not depend on the languages.
    """

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


class RuleError(ValueError):
    """The failure of a plug-in file's rule.

    Args:
        message: description of the failure.
        pair: the `Pair`.
        number: number of the pair in the text, or None until it is known.
    """

    def __init__(self, message, pair, number=None):
        super().__init__(message)
        self.message, self.pair, self.number = message, pair, number

    def __str__(self):
        number = "a pair" if self.number is None else f"pair {self.number:,}"
        texts = " and ".join(repr(text[:60]) for text in (self.pair.source, self.pair.target))
        return f"{number} ({texts}): {self.message}"

    def __reduce__(self):  # for Apache Beam, whose workers are processes
        return RuleError, (self.message, self.pair, self.number)


def checked(name, drops):
    """Returns the function of a plug-in file's rule with checks of its answers."""

    def drops_or_fails(pair, setting):
        try:
            answer = drops(pair, setting)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            message = f"the rule {name!r} failed: {failure_of(error)}"
            raise RuleError(message, pair) from error
        if isinstance(answer, bool | np.bool_):
            return answer
        received = "None" if answer is None else f"a value of type {type(answer).__name__}"
        raise RuleError(
            f"the rule {name!r}{place_of(drops)} must return True to drop the pair or False to "
            f"keep it. Received: {received}",
            pair,
        )

    return drops_or_fails


# {name: `Rule`} in order of application, fast ones first. A name is the setting of `CleaningConfig`
# that turns the rule on, and the key of its count. A pair is counted for the first rule that drops
# it. Plug-in files add entries.
RULES = {
    "invalid_utf8": Rule("not UTF-8", lambda pair, _: not pair.is_utf8),
    "empty": Rule("empty side", lambda pair, _: not pair.shorter),
    "max_characters": Rule("too long", lambda pair, limit: pair.longer > limit),
    "max_ratio": Rule(
        "lengths too different",
        lambda pair, limit: pair.longer > limit * max(pair.shorter, 20),
    ),
    "identical": Rule("source = target", lambda pair, _: pair.source == pair.target),
    "max_words": Rule("too many words", either_side(lambda text, n: count_words(text) > n)),
    "max_word_ratio": Rule(
        "numbers of words too different",
        lambda pair, limit: word_ratio(pair) > limit,
    ),
    "max_word_length": Rule("a word too long", either_side(lambda text, n: longest_word(text) > n)),
    "max_mean_word": Rule("words too long", either_side(lambda text, n: mean_word(text) > n)),
    "html_tags": Rule("tags", either_side(lambda text, _: has_tag(text))),
    "links": Rule("different links", lambda pair, _: link_difference(pair) > 0),
    "max_links": Rule("mostly links", either_side(lambda text, most: share_of_links(text) > most)),
    "min_digits": Rule("different numbers", lambda pair, least: digit_similarity(pair) < least),
    "max_end_difference": Rule(
        "different numbers of sentences",
        lambda pair, limit: sentence_difference(pair) > limit,
    ),
    "min_letters": Rule(
        "too few letters",
        either_side(lambda text, least: share_of_letters(text) < least),
    ),
    "min_script": Rule(
        "wrong script",
        too_few_in_script,
        with_languages=lambda share, languages: (share, languages),
    ),
    "max_similarity": Rule("nearly copied", lambda pair, most: similarity(pair) > most),
    "max_repetitions": Rule("repetitions", either_side(is_repetitive)),
    "other_language": Rule(
        "wrong language",
        in_other_language,
        with_languages=lambda _, languages: [LanguageIdentifier(code) for code in languages],
    ),
    "low_score": Rule("low score", lambda pair, _: not pair.is_good),
    "duplicates": Rule("duplicates", None),
}
BUILT_IN = frozenset(RULES)  # names of the rules in this package
# Names of other counts and settings.
RESERVED = ("read", "kept", "replaced", "nfc", "control_characters", "rules", "words", "characters")
