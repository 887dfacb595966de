"""The scripts of languages, such as Cyrillic for "uk"."""

import functools
import unicodedata
from collections import Counter

from pipelines.languages.language_codes import NAMES, normalized

# Languages and the words with which the Unicode names of their letters begin. The other languages
# of `NAMES` use the Latin script.
TABLE = """
ab av ba be bg ce cu cv kk kv ky mk mn os ru tg tt uk: CYRILLIC
ar ckb fa ps ug ur: ARABIC
ks sd: ARABIC DEVANAGARI
cr iu oj: CANADIAN LATIN
az ku tk uz: LATIN CYRILLIC ARABIC
sh sr: LATIN CYRILLIC
bho hi mai mr ne pi sa: DEVANAGARI
as bn: BENGALI
bo dz: TIBETAN
am ti: ETHIOPIC
he yi: HEBREW
pa: GURMUKHI ARABIC
ja: CJK HIRAGANA KATAKANA KATAKANA-HIRAGANA IDEOGRAPHIC
yue zh: CJK IDEOGRAPHIC
ko: HANGUL CJK
dv: THAANA
el: GREEK
gu: GUJARATI
hy: ARMENIAN
ii: YI
ka: GEORGIAN
km: KHMER
kn: KANNADA
lo: LAO
ml: MALAYALAM
my: MYANMAR
or: ORIYA
si: SINHALA
ta: TAMIL
te: TELUGU
th: THAI
"""
SCRIPTS = {
    language: frozenset(scripts.split())
    for languages, scripts in (line.split(":") for line in TABLE.strip().splitlines())
    for language in languages.split()
}
OF_ALL = "ªºµ"  # letters that texts in any script use
SUBTAGS = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Arab": "ARABIC", "Deva": "DEVANAGARI"}


@functools.cache
def scripts_of(language):
    """Returns the scripts of a language, or None if they are not known.

    A code such as "uz-Cyrl" names one.
    """
    code, *rest = normalized(language).split("-")
    named = [SUBTAGS[part] for part in rest if part in SUBTAGS]
    return frozenset(named) or SCRIPTS.get(code, frozenset({"LATIN"}) if code in NAMES else None)


def share_in_script(text, language):
    """Returns the share of the letters that are in the script of a language.

    It is 1 without letters, and if the script of the language is not known.
    """
    scripts = scripts_of(language)
    if scripts is None:
        return 1.0
    letters = {x: n for x, n in Counter(text).items() if x.isalpha() and x not in OF_ALL}
    total = sum(letters.values())
    in_script = sum(n for x, n in letters.items() if script_of(x) in scripts)
    return in_script / total if total else 1.0


@functools.lru_cache(100_000)
def script_of(letter):
    """Returns the script of a letter as Unicode names it, such as "LATIN" or "CYRILLIC"."""
    name = unicodedata.name(letter, "")
    for width in ("FULLWIDTH ", "HALFWIDTH "):
        name = name.removeprefix(width)
    return name.partition(" ")[0]
