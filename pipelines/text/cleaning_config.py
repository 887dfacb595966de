"""The settings of the cleaning rules."""

import dataclasses
import math

from pipelines.text.normalization import Normalization


@dataclasses.dataclass
class CleaningConfig:
    """The cleaning rules. Each can be turned off separately. Those after `max_ratio` are off.

    Args:
        nfc: compose characters (Unicode NFC).
        control_characters: remove control characters.
        empty: drop pairs with an empty side.
        invalid_utf8: drop pairs that are not UTF-8. If off, malformed bytes become U+FFFD.
        identical: drop pairs with two equal sides, which are untranslated.
        duplicates: drop pairs that occurred earlier in the corpus.
        max_characters: drop pairs with a side longer than this. 0: off.
        max_ratio: drop pairs with one side more than this many times as long as the other, in
            characters. A shorter side of fewer than 20 characters counts as 20. 0: off.
        max_words: drop pairs with a side of more words than this. 0: off.
        max_word_ratio: drop pairs with one side more than this many times as long as the other, in
            words. A shorter side of fewer than 4 words counts as 4. 0: off.
        max_word_length: drop pairs with a word of more characters than this, except URLs and e-mail
            addresses. 0: off.
        max_mean_word: drop pairs with a side whose words have more characters than this on average.
            0: off.
        min_letters: drop pairs with a smaller share of letters on a side, of all characters except
            spaces. 0: off.
        html_tags: drop pairs with tags of HTML or XML.
        min_digits: drop pairs with a smaller share of digits that both sides have in common,
            without zeros and in any order. A side without digits may spell out up to two. 0: off.
        links: drop pairs with different numbers of URLs and e-mail addresses on the two sides.
        max_links: drop pairs with a larger share of characters in URLs and e-mail addresses on a
            side. 0: off.
        max_end_difference: drop pairs whose sides differ by more than this in the number of marks
            at ends of sentences (. ? ! …). 0: off.
        max_repetitions: drop pairs with a side in which a text of 3 to 100 characters occurs more
            than this many times in a row. 0: off.
        max_similarity: drop pairs with a larger share of character trigrams that both sides have in
            common, such as copies with small changes. 0: off.
        min_script: drop pairs with a smaller share of letters in the script of the language on a
            side. 0: off.
        other_language: drop pairs with a side in a different language than expected, which CLD2
            identifies (`pip install "t2t-keras[identify]"`).
        rules: further rules, which a plug-in file added to `RULES`, each "NAME" or "NAME=VALUE".
    """

    nfc: bool = True
    control_characters: bool = True
    empty: bool = True
    invalid_utf8: bool = True
    identical: bool = True
    duplicates: bool = True
    max_characters: int = 2000
    max_ratio: float = 4.0
    max_words: int = 0
    max_word_ratio: float = 0.0
    max_word_length: int = 0
    max_mean_word: float = 0.0
    min_letters: float = 0.0
    html_tags: bool = False
    min_digits: float = 0.0
    links: bool = False
    max_links: float = 0.0
    max_end_difference: int = 0
    max_repetitions: int = 0
    max_similarity: float = 0.0
    min_script: float = 0.0
    other_language: bool = False
    rules: tuple[str, ...] = ()

    def validate(self):
        """Raises `ValueError` for the first wrong setting.

        `check_rules` in `cleaning_rules.py` checks that `rules` exist.
        """
        self.own_settings()
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "rules":
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if field.type is bool:
                valid, allowed = isinstance(value, bool), "True or False"
            elif field.name in SHARES:
                valid, allowed = is_number and 0 <= value <= 1, "a share from 0 (off) to 1"
            elif field.name == "max_repetitions":
                valid = is_number and isinstance(value, int) and value >= 0
                allowed = "0 (off) or a whole number of at least 1"
            else:
                valid = is_number and (value == 0 or value >= 1)
                allowed = "0 (off) or at least 1"
            if not valid:
                raise ValueError(
                    f"`{field.name}` must be {allowed}. Received: {field.name}={value!r}"
                )

    def normalization(self):
        """Returns the `Normalization` that the tokenizer applies to every text."""
        return Normalization(nfc=self.nfc, control_characters=self.control_characters)

    def settings(self):
        """Returns {name of a rule: setting} of all rules. A false setting turns the rule off."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return own | self.own_settings()

    def own_settings(self):
        """Returns {name: setting} of `rules`. The setting is a number, a text, or True."""
        if isinstance(self.rules, str) or not all(isinstance(each, str) for each in self.rules):
            raise ValueError(
                '`rules` must be a tuple of texts, each "NAME" or "NAME=VALUE". Received: '
                f"rules={self.rules!r}"
            )
        settings = {}
        for each in self.rules:
            name, equals, value = each.partition("=")
            if not name or (equals and not value):
                raise ValueError(
                    f'`rules` must have the form "NAME" or "NAME=VALUE". Received: {each!r}'
                )
            if name in settings:
                raise ValueError(f"`rules` must name a rule only once. Received: {name!r} twice")
            settings[name] = setting_of(each, value) if equals else True
        return settings


def setting_of(rule, text):
    """Returns the value of a rule as a number or, if it is none, as a text."""
    for number in (int, float):
        try:
            value = number(text)
        except ValueError:
            continue
        if not math.isfinite(value):
            raise ValueError(f"The value of a rule must be finite. Received: {rule!r}")
        return value
    return text


SHARES = ("min_letters", "min_digits", "max_links", "max_similarity", "min_script")
# The settings of t2t-prepare --strict, for text of unknown quality, such as from the web.
STRICT = {
    "max_word_ratio": 3.0,
    "max_word_length": 60,
    "min_letters": 0.3,
    "min_digits": 0.5,
    "links": True,
    "max_links": 0.5,
    "max_end_difference": 3,
    "max_repetitions": 3,
    "max_similarity": 0.9,
    "min_script": 0.5,
    "other_language": True,
}
