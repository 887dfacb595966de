"""The functions of the rules for noisy text: whether a text or a pair exceeds a setting.

`CleaningConfig` describes them. The texts are normalized: words are separated by single spaces. The
choice follows OpusFilter (Aulamo et al. 2020, https://aclanthology.org/2020.acl-demos.20/).
"""

import re
import unicodedata
from collections import Counter

DIGIT = re.compile(r"\d")
# A URL, also without "http://", or an e-mail address.
LINK = re.compile(r"(?:[a-z]{3,6}://|www\.)\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+", re.I)
# A tag of HTML or XML, but not "a < b > c" or "<alice@example.org>".
TAG = re.compile(r"</?[a-z][a-z0-9:-]*(?:\s[^<>=]*=[^<>]*|\s*)/?>", re.I)
# Marks at the end of a sentence. A series of them, such as "...", is one.
SENTENCE_END = re.compile(r"(?<![.?!…])[.?!…]++(?=[\"'”“’»)\]]*+(?:\s|$))|[。！？।؟]+")
# In ASCII, Latin-1, and the blocks of general and of Chinese and Japanese punctuation.
PUNCTUATION = re.compile("[!-/:-@\\[-`{-~¡-¿‐-⁞、-〿！-／]+")
FEW_CHARACTERS = 20  # a shorter side counts as this long, when lengths are compared
FEW_WORDS = 4  # a side with fewer words counts as one of this many, when numbers are compared
FEW_DIGITS = 2  # so many may be spelled out on the other side, as in "30 minutes"
UNIT = 3  # minimum length of a repeated text, in characters
LONGEST_UNIT = 100


def differs_in_length(pair, setting):
    most, expected = setting
    shorter, longer = pair.shorter, pair.longer
    if expected != 1:
        shorter, longer = sorted((expected * len(pair.source), len(pair.target)))
    return longer > most * max(shorter, FEW_CHARACTERS)


def count_words(text):
    return text.count(" ") + 1 if text else 0


def has_many_words(text, most):
    return count_words(text) > most


def differs_in_words(pair, most):
    shorter, longer = sorted((count_words(pair.source), count_words(pair.target)))
    return longer > most * max(shorter, FEW_WORDS)


def has_long_word(text, most):
    return max(map(len, (LINK.sub("", text) if links(text) else text).split(" "))) > most


def has_long_words(text, most):
    words = count_words(text)
    return (len(text) - words + 1) / max(words, 1) > most


def has_few_letters(text, least):
    """Accents are letters. The share is among the characters other than spaces."""
    letters = sum(
        count
        for character, count in Counter(text).items()
        if character.isalpha() or unicodedata.category(character)[0] == "M"
    )
    return letters / max(len(text) - text.count(" "), 1) < least


def differs_in_digits(pair, least):
    """Compares Dice's coefficient of the digits, so that "3.5 on 12/31" equals "am 31.12. 3,5".

    Zeros are ignored, because "2 million" equals "2,000,000". A side without digits may spell out
    up to two of them.
    """
    digits = (map(unicodedata.digit, DIGIT.findall(text)) for text in pair[:2])
    sides = [list(filter(None, side)) for side in digits]
    total = sum(map(len, sides))
    if not total or (not all(sides) and total <= FEW_DIGITS):
        return False
    return 2 * (Counter(sides[0]) & Counter(sides[1])).total() / total < least


def links(text):
    # Faster than a search in most texts.
    return LINK.findall(text) if "://" in text or "@" in text or "www." in text.lower() else []


def differs_in_links(pair, _):
    return len(links(pair.source)) != len(links(pair.target))


def is_mostly_links(text, most):
    return sum(map(len, links(text))) / max(len(text), 1) > most


def has_tag(text, _):
    return "<" in text and (TAG.search(text) is not None or "<!--" in text)


def differs_in_ends(pair, most):
    ends = [len(SENTENCE_END.findall(text)) for text in pair[:2]]
    return abs(ends[0] - ends[1]) > most


def is_repetitive(text, limit):
    """Returns whether a part of a text occurs more than `limit` times in a row, as in "ha ha ha".

    The part has 3 to 100 characters, including a space after it.
    """
    text += " "
    width = limit * UNIT
    grams = [text[i : i + width] for i in range(len(text) - width + 1)]
    if len(set(grams)) == len(grams):  # true for most texts, and fast to check
        return False
    places = {}  # {gram: positions where it begins}
    for i, gram in enumerate(grams):
        for earlier in reversed(places.get(gram, ())):
            unit = i - earlier
            if unit > LONGEST_UNIT:
                break
            if (
                unit >= UNIT
                and text[earlier : earlier + limit * unit] == text[i : i + limit * unit]
            ):
                return True
        places.setdefault(gram, []).append(i)
    return False


def adds_repetitions(pair, limit):
    return repeats_words(pair.target, limit) and not repeats_words(pair.source, limit)


def repeats_words(text, limit):
    """Ignores case and punctuation, otherwise like `is_repetitive`."""
    return is_repetitive(" ".join(PUNCTUATION.sub(" ", text.casefold()).split()), limit)


def is_similar(pair, most):
    """Compares the trigrams (Dice), ignoring case: many in a copy, few in a translation."""
    sides = [trigrams(pair.source.casefold()), trigrams(pair.target.casefold())]
    return 2 * len(sides[0] & sides[1]) / max(sum(map(len, sides)), 1) > most


def trigrams(text):
    return set(zip(text, text[1:], text[2:], strict=False)) or {text}
