"""Each optional rule drops the noise that it is for, and keeps sound pairs."""

import random
import re

import pytest

from pipelines.languages.scripts import scripts_of, share_in_script
from pipelines.text.cleaning import Cleaning, judge
from pipelines.text.cleaning_rules import STRICT, CleaningConfig
from pipelines.text.noise import is_repetitive

GOOD = (
    "On 12/31 at 3.5 degrees, 2 million people saw www.example.org. Great...",
    "Am 31.12. sahen bei 3,5 Grad 2.000.000 Menschen www.example.org. Toll…",
)
# {rule: (setting, dropped pairs, kept pairs)}
CASES = {
    "max_words": (3, [("a b c d", "a")], [("a b c", "d e f")]),
    "max_word_ratio": (
        3,
        [("a b c d e f g h i j k l m", "eins zwei drei vier"), ("n " * 13, "m")],
        [("a b c d e f g h i j k l", "vier")],
    ),
    "max_word_length": (
        10,
        [("short", "Donaudampfschiff")],
        [("see", "https://example.org/long/path"), ("mail", "someone.with.a.name@example.org")],
    ),
    "max_mean_word": (8, [("a b", "Donaudampf schiffahrt")], [("a b", "Donaudampf ist")]),
    "min_letters": (0.5, [("1.2.3 | --- a", "b")], [("9:15 nine", "9.15 neun"), ("नमस्ते", "x")]),
    "html_tags": (
        True,
        [("<b>bold", "fett"), ("x", 'a <a href="b">'), ("<br/>", "x"), ("x", "<!-- note -->")],
        [("a < b and c > d", "<bob@example.org>"), ("1 <2> 3", "1 < 2")],
    ),
    "links": (
        True,
        [("see www.a.org", "siehe dort"), ("mail a@b.org and c@d.org", "an a@b.org")],
        [("see http://a.org/x", "siehe http://b.de/y"), ("@home", "@home")],
    ),
    "max_links": (0.5, [("see www.example.org", "www.example.org")], [("no", "links"), GOOD]),
    "min_digits": (
        0.5,
        [("in 1969", "in 1475"), ("page 345", "Seite"), ("٣٤٥", "127")],
        [("30 minutes", "eine halbe Stunde"), ("٣٤٥", "345"), ("no", "keine"), ("5 of 1000", "5")],
    ),
    "max_end_difference": (
        1,
        [("One. Two. Three.", "Alles zusammen."), ("A", "一。二。三。")],
        [("It is 3.5, e.g. so...", "Es ist 3.5, so!"), ('"Yes." He left.', "„Ja.“ Er ging.")],
    ),
    "max_repetitions": (
        2,
        [("ha ha ha", "ja"), ("x", "abcabcabc"), ("so good so good so good", "x")],
        [("ha ha", "nono no"), ("alle in ein einziges Taxi", "x"), ("so good so good", "x")],
    ),
    "max_added_repetitions": (
        2,
        [("the dog", "Der Hund der Hund der Hund."), ("it sleeps", "schläft, schläft, Schläft!")],
        [("the dog", "Der Hund der Hund schläft."), ("ha ha ha", "ja ja ja"), ("ha ha ha", "ja")],
    ),
    "max_similarity": (
        0.8,
        [("OpenOffice.org 1.0 Impress object", "OpenOffice.org 1.0 Impress Objekt")],
        [("A dog runs.", "Ein Hund rennt."), ("", "x")],
    ),
}


def rules_of(languages=(), **settings):
    off = {"empty": False, "identical": False, "duplicates": False, "max_ratio": 0}
    return Cleaning(CleaningConfig(**off, **settings), None, languages)


def dropped_by(cleaning, pair):
    pair = tuple(side.encode() for side in pair)
    return judge(pair, cleaning.rules(), cleaning.normalization).rule


@pytest.mark.parametrize("rule", CASES)
def test_an_optional_rule_drops_noise_and_keeps_sound_pairs(rule):
    setting, bad, good = CASES[rule]
    cleaning = rules_of(**{rule: setting})
    for pair in bad:
        assert dropped_by(cleaning, pair) == rule, pair
        assert dropped_by(rules_of(), pair) is None
    for pair in good:
        assert dropped_by(cleaning, pair) is None, pair


def test_the_lengths_of_sound_pairs_have_the_expected_ratio():
    """Translations into Chinese are short, so that a long one is suspicious."""

    def is_dropped(pair, ratio):
        config = CleaningConfig(max_ratio=2.5, length_ratio=ratio)
        return dropped_by(Cleaning(config), pair) == "max_ratio"

    source = "the dog sleeps in the garden of the old man"
    assert not is_dropped((source, "x" * 50), 0.3), "12.9 expected, counted as 20"
    assert not is_dropped((3 * source, "xy" * len(source)), 0.3)
    assert is_dropped((3 * source, "xy" * 2 * len(source)), 0.3)
    assert not is_dropped((3 * source, "xy" * 2 * len(source)), 1.0)


def test_languages_and_scripts_are_told_apart():
    cleaning = rules_of(("en", "de"), other_language=True)
    english, german = "Two dogs are playing in the snow.", "Zwei Hunde spielen im Schnee."
    assert dropped_by(cleaning, (english, german)) is None
    for pair in ((german, german), (english, english), (german, english)):
        assert dropped_by(cleaning, pair) == "other_language"
    assert dropped_by(cleaning, ("Tom?", "1,5 km")) is None  # too short to tell
    assert dropped_by(cleaning, ("\x01\x85", "\ud7ff￾")) is None  # CLD2 refuses such text
    cleaning = rules_of(("ru", "ja"), min_script=0.5)
    assert dropped_by(cleaning, ("Это USB", "日本語のテキスト。")) is None
    assert dropped_by(cleaning, ("This is", "日本語")) == "min_script"
    assert dropped_by(cleaning, ("12 %", "ﾃｷｽﾄ")) is None  # no letters; half-width ones
    assert share_in_script("ışık Ümit", "tr") == 1
    assert share_in_script("\u1403\u14c4\u1483", "iu") == share_in_script("1\u00ba", "ru") == 1
    assert share_in_script("\u5e7f", "yue") == share_in_script("\u05d0", "lad") == 1
    assert scripts_of("uz-Cyrl") == {"CYRILLIC"} and scripts_of("pt-BR") == {"LATIN"}


def test_languages_that_are_missing_or_unknown_are_refused():
    for code in ("he", "nb", "zh-Hant", "pt-BR", "sr", "jv"):  # CLD2 writes them differently
        assert rules_of((code, "en"), other_language=True).rules()
    for languages, message in [
        (None, "`other_language` needs the languages of both sides: --languages=en,de"),
        (("en", "tlx"), "CLD2 does not know the language 'tlx'"),
    ]:
        with pytest.raises(ValueError, match=message):
            rules_of(languages, other_language=True).rules()


def test_a_sound_pair_passes_the_strict_rules_and_the_defaults_have_none():
    assert dropped_by(rules_of(("en", "de"), **STRICT), GOOD) is None
    assert not any(getattr(CleaningConfig(), name) for name in STRICT)


def test_repetitions_are_those_that_a_slow_search_finds():
    choose = random.Random(1)
    for size in [2, 4] * 400:
        unit = "".join(choose.choices("abc "[:size], k=choose.randint(1, 9)))
        ends = ["".join(choose.choices("abc ", k=choose.randint(0, 9))) for _ in range(2)]
        text = " ".join((ends[0] + unit * choose.randint(1, 5) + ends[1]).split())
        for limit in (1, 2, 3):
            slow = re.search(rf"(.{{3,100}}?)\1{{{limit},}}", text + " ") is not None
            assert is_repetitive(text, limit) == slow, text
