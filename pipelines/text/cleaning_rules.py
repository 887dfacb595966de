"""The rules that drop sentence pairs, and their settings.

A field of `CleaningConfig` with `rule` is a rule of this package: its default and bounds, the
reason in reports, and its function. A plug-in file adds rules to `RULES`, and
`CleaningConfig.rules` turns them on.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

from pipelines.checks import nearest, setting, validate
from pipelines.languages.cld2 import LanguageIdentifier
from pipelines.languages.scripts import share_in_script
from pipelines.registry import Registry
from pipelines.text import noise
from pipelines.text.normalization import Normalization


class Pair(NamedTuple):
    """A normalized sentence pair, with the properties that the rules test."""

    source: str
    target: str
    shorter: int  # length of the shorter side, in characters
    longer: int  # length of the longer side, in characters
    is_utf8: bool  # whether both sides were valid UTF-8
    is_good: bool = True  # whether its score is high enough, see `ScoredPairs`


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


def rule(default, reason, drops, with_languages=None, strict=None, **bounds):
    """Returns the field of a rule. Without other bounds, a number is 0 (off) or at least 1.

    Args:
        default: its default value.
        reason, drops, with_languages: see `Rule`.
        strict: its value for `t2t-prepare --strict`, if that is a different one.
        **bounds: see `setting`.
    """
    bounds = bounds or {"at_least": 1, "off": True}
    return setting(default, rule=Rule(reason, drops, with_languages), strict=strict, **bounds)


def share(reason, drops, strict, with_languages=None):
    """Returns the field of a rule about a share, which is off by default."""
    return rule(0.0, reason, drops, with_languages, strict, at_least=0, at_most=1)


def either_side(test):
    """Returns a function for `Rule.drops` from a function of (text, setting)."""
    return lambda pair, setting: test(pair.source, setting) or test(pair.target, setting)


def too_few_in_script(pair, setting):
    least, languages = setting
    texts = zip((pair.source, pair.target), languages, strict=True)
    return any(share_in_script(text, language) < least for text, language in texts)


def in_other_language(pair, identifiers):
    texts = zip((pair.source, pair.target), identifiers, strict=True)
    return any(identifier.is_other(text) for text, identifier in texts)


@dataclasses.dataclass
class CleaningConfig:
    """The cleaning rules, in order of application. Each can be turned off separately.

    A pair is counted for the first rule that drops it.

    Args:
        nfc: compose characters (Unicode NFC).
        control_characters: remove control characters.
        invalid_utf8: drop pairs that are not UTF-8. If off, malformed bytes become U+FFFD.
        empty: drop pairs with an empty side.
        max_characters: drop pairs with a side longer than this. 0: off.
        max_ratio: drop pairs with one side more than this many times as long as the other, in
            characters. A shorter side of fewer than 20 characters counts as 20. 0: off.
        length_ratio: expected length of a target whose source has the length 1, for max_ratio.
        identical: drop pairs with two equal sides, which are untranslated.
        max_words: drop pairs with a side of more words than this. 0: off.
        max_word_ratio: drop pairs with one side more than this many times as long as the other, in
            words. A shorter side of fewer than 4 words counts as 4. 0: off.
        max_word_length: drop pairs with a word of more characters than this, except URLs and e-mail
            addresses. 0: off.
        max_mean_word: drop pairs with a side whose words have more characters than this on average.
            0: off.
        html_tags: drop pairs with tags of HTML or XML.
        links: drop pairs with different numbers of URLs and e-mail addresses on the two sides.
        max_links: drop pairs with a larger share of characters in URLs and e-mail addresses on a
            side. 0: off.
        min_digits: drop pairs with a smaller share of digits that both sides have in common,
            without zeros and in any order. A side without digits may spell out up to two. 0: off.
        max_end_difference: drop pairs whose sides differ by more than this in the number of marks
            at ends of sentences (. ? ! …). 0: off.
        min_letters: drop pairs with a smaller share of letters on a side, of all characters except
            spaces. 0: off.
        min_script: drop pairs with a smaller share of letters in the script of the language on a
            side. 0: off.
        max_similarity: drop pairs with a larger share of character trigrams that both sides have in
            common, such as copies with small changes. 0: off.
        max_repetitions: drop pairs with a side in which a text of 3 to 100 characters occurs more
            than this many times in a row. 0: off.
        max_added_repetitions: drop pairs with a target in which a text occurs more than this many
            times in a row, unless its source repeats one as well. Case and punctuation are ignored.
            0: off.
        other_language: drop pairs with a side in a different language than expected, which CLD2
            identifies (`pip install "t2t-keras[identify]"`).
        duplicates: drop pairs that occurred earlier in the corpus.
        rules: further rules, which a plug-in file added to `RULES`, each "NAME" or "NAME=VALUE".
    """

    nfc: bool = True
    control_characters: bool = True
    # Fast rules come first.
    invalid_utf8: bool = rule(True, "not UTF-8", lambda pair, _: not pair.is_utf8)
    empty: bool = rule(True, "empty side", lambda pair, _: not pair.shorter)
    max_characters: int = rule(2000, "too long", lambda pair, most: pair.longer > most)
    max_ratio: float = rule(4.0, "lengths too different", noise.differs_in_length)
    length_ratio: float = setting(1.0, above=0)
    identical: bool = rule(True, "source = target", lambda pair, _: pair.source == pair.target)
    max_words: int = rule(0, "too many words", either_side(noise.has_many_words))
    max_word_ratio: float = rule(
        0.0, "numbers of words too different", noise.differs_in_words, strict=3.0
    )
    max_word_length: int = rule(0, "a word too long", either_side(noise.has_long_word), strict=60)
    max_mean_word: float = rule(0.0, "words too long", either_side(noise.has_long_words))
    html_tags: bool = rule(False, "tags", either_side(noise.has_tag))
    links: bool = rule(False, "different links", noise.differs_in_links, strict=True)
    max_links: float = share("mostly links", either_side(noise.is_mostly_links), 0.5)
    min_digits: float = share("different numbers", noise.differs_in_digits, 0.5)
    max_end_difference: int = rule(
        0, "different numbers of sentences", noise.differs_in_ends, strict=3
    )
    min_letters: float = share("too few letters", either_side(noise.has_few_letters), 0.3)
    min_script: float = share(
        "wrong script", too_few_in_script, 0.5, lambda least, languages: (least, languages)
    )
    max_similarity: float = share("nearly copied", noise.is_similar, 0.9)
    max_repetitions: int = rule(0, "repetitions", either_side(noise.is_repetitive), strict=3)
    max_added_repetitions: int = rule(0, "repetitive target", noise.adds_repetitions)
    other_language: bool = rule(
        False,
        "wrong language",
        in_other_language,
        lambda _, languages: [LanguageIdentifier(code) for code in languages],
        strict=True,
    )
    duplicates: bool = rule(True, "duplicates", None)
    rules: tuple[str, ...] = ()

    def validate(self, prefix=""):
        """Raises `ValueError` for the first wrong setting."""
        validate(self, prefix)
        own = RULES.own()
        for name in self.own_settings():
            if name in RULES.built_in:
                raise ValueError(
                    f"`rules` names rules of plug-in files; {name!r} has a setting of its own, "
                    f"data.cleaning.{name}"
                )
            if name not in RULES:
                raise ValueError(
                    "`rules` must name entries that a plug-in file, --imports=FILE, added to "
                    f"RULES: {', '.join(own) or 'there are none'}{nearest(name, own)}. "
                    f"Received: {name!r}"
                )
            rule = RULES[name]
            if name in RESERVED or not isinstance(rule, Rule) or not callable(rule.drops):
                raise ValueError(
                    f"RULES[{name!r}] must be Rule('reason', function of (pair, setting)), and not "
                    f"be named {', '.join(RESERVED[:-1])} or {RESERVED[-1]}. Received: {rule!r}"
                )

    def normalization(self):
        """Returns the `Normalization` that the tokenizer applies to every text."""
        return Normalization(nfc=self.nfc, control_characters=self.control_characters)

    def settings(self):
        """Returns {name of a rule: setting} of all rules. A false setting turns the rule off."""
        ratio = self.max_ratio and (self.max_ratio, self.length_ratio)
        return vars(self) | self.own_settings() | {"low_score": True, "max_ratio": ratio}

    def own_settings(self):
        """Returns {name: setting} of `rules`. The setting is a number, a text, or True."""
        settings = {}
        for each in self.rules:
            name, equals, value = each.partition("=")
            if not name or bool(equals) != bool(value) or name in settings:
                raise ValueError(
                    '`rules` must name each rule once, as "NAME" or "NAME=VALUE". Received: '
                    f"{each!r} in rules={self.rules!r}"
                )
            settings[name] = number_or_text(value) if equals else True
        return settings


def number_or_text(text):
    for number in (int, float):
        try:
            if math.isfinite(value := number(text)):
                return value
        except ValueError:
            continue
    return text


# {name: `Rule`} in order of application. A name is the key of its count and, except for low_score,
# the setting that turns the rule on. Plug-in files add entries.
rules = {
    field.name: field.metadata["rule"]
    for field in dataclasses.fields(CleaningConfig)
    if "rule" in field.metadata
}
rules["low_score"] = Rule("low score", lambda pair, _: not pair.is_good)
rules["duplicates"] = rules.pop("duplicates")  # the last one
RULES = Registry("RULES", "data.cleaning.rules", rules)
# Names of other counts and settings.
RESERVED = ("read", "kept", "replaced", "nfc", "control_characters", "rules", "words", "characters")
# The settings of t2t-prepare --strict, for text of unknown quality, such as from the web.
STRICT = {
    field.name: field.metadata["strict"]
    for field in dataclasses.fields(CleaningConfig)
    if field.metadata.get("strict") is not None
}
