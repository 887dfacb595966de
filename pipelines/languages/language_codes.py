"""Codes of languages, such as "de", and their English names.

The codes are those of ISO 639-1, or of three letters where ISO 639-1 has none, optionally with a
script or a region, such as "zh-Hans" and "pt-BR" (BCP 47). Files of text are commonly named after
their language: `train.en`, `news.2020.de.gz`.
"""

import re

CODE = r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?"
NOT_A_LANGUAGE = {"gz", "bz2", "xz", "zst", "txt", "tok", "bpe", "spm", "clean", "lc"}
TABLE = """
aa Afar|ab Abkhazian|ae Avestan|af Afrikaans|ak Akan|am Amharic|an Aragonese|ar Arabic|as Assamese
av Avaric|ay Aymara|az Azerbaijani|ba Bashkir|be Belarusian|bg Bulgarian|bi Bislama|bm Bambara
bn Bengali|bo Tibetan|br Breton|bs Bosnian|ca Catalan|ce Chechen|ch Chamorro|co Corsican|cr Cree
cs Czech|cu Church Slavic|cv Chuvash|cy Welsh|da Danish|de German|dv Divehi|dz Dzongkha|ee Ewe
el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian|ff Fulah|fi Finnish
fj Fijian|fo Faroese|fr French|fy Western Frisian|ga Irish|gd Scottish Gaelic|gl Galician|gn Guarani
gu Gujarati|gv Manx|ha Hausa|he Hebrew|hi Hindi|ho Hiri Motu|hr Croatian|ht Haitian Creole
hu Hungarian|hy Armenian|hz Herero|ia Interlingua|id Indonesian|ie Interlingue|ig Igbo
ii Sichuan Yi|ik Inupiaq|io Ido|is Icelandic|it Italian|iu Inuktitut|ja Japanese|jv Javanese
ka Georgian|kg Kongo|ki Kikuyu|kj Kuanyama|kk Kazakh|kl Kalaallisut|km Khmer|kn Kannada|ko Korean
kr Kanuri|ks Kashmiri|ku Kurdish|kv Komi|kw Cornish|ky Kyrgyz|la Latin|lb Luxembourgish|lg Ganda
li Limburgish|ln Lingala|lo Lao|lt Lithuanian|lu Luba-Katanga|lv Latvian|mg Malagasy|mh Marshallese
mi Maori|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese|na Nauru
nb Norwegian Bokmål|nd North Ndebele|ne Nepali|ng Ndonga|nl Dutch|nn Norwegian Nynorsk|no Norwegian
nr South Ndebele|nv Navajo|ny Nyanja|oc Occitan|oj Ojibwa|om Oromo|or Odia|os Ossetian|pa Punjabi
pi Pali|pl Polish|ps Pashto|pt Portuguese|qu Quechua|rm Romansh|rn Rundi|ro Romanian|ru Russian
rw Kinyarwanda|sa Sanskrit|sc Sardinian|sd Sindhi|se Northern Sami|sg Sango|sh Serbo-Croatian
si Sinhala|sk Slovak|sl Slovenian|sm Samoan|sn Shona|so Somali|sq Albanian|sr Serbian|ss Swati
st Southern Sotho|su Sundanese|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|ti Tigrinya
tk Turkmen|tl Tagalog|tn Tswana|to Tongan|tr Turkish|ts Tsonga|tt Tatar|tw Twi|ty Tahitian|ug Uyghur
uk Ukrainian|ur Urdu|uz Uzbek|ve Venda|vi Vietnamese|vo Volapük|wa Walloon|wo Wolof|xh Xhosa
yi Yiddish|yo Yoruba|za Zhuang|zh Chinese|zu Zulu
"""
NAMES = dict(entry.split(" ", 1) for entry in re.split(r"[|\n]", TABLE.strip()))
SCRIPTS = {"hans": "Simplified", "hant": "Traditional", "latn": "Latin", "cyrl": "Cyrillic"}


def normalized(code):
    """Returns a code in the usual capitals, such as "zh-Hans" for "ZH_hans".

    Raises:
        ValueError: it is not a code of a language.
    """
    if not isinstance(code, str) or not re.fullmatch(CODE, code):
        # A list from YAML may be huge: a model card can repeat it billions of times.
        received = repr(code[:80]) if isinstance(code, str) else f"a {type(code).__name__}"
        raise ValueError(
            f"a language must be given by its code, such as en, de or pt-BR. Received: {received}"
        )
    language, *rest = re.split("[-_]", code)
    rest = [part.capitalize() if len(part) == 4 else part.upper() for part in rest]
    return "-".join([language.lower(), *rest])


def code_of(text):
    """Returns the code of a language in its usual form, or None if the text is not a code."""
    try:
        return normalized(text)
    except ValueError:
        return None


def language_name(code):
    """Returns the English name of a language, or the code if the name is not known."""
    language, *rest = normalized(code).split("-")
    if language not in NAMES:
        return code
    rest = [SCRIPTS.get(part.lower(), part) for part in rest]
    return NAMES[language] + (f" ({', '.join(rest)})" if rest else "")


def best_match(codes, code):
    """Returns the index of the code that is equal, or else of the same language. None: no code.

    An element of `codes` is None if it stands for something else.
    """
    for form in (normalized, lambda each: normalized(each).partition("-")[0]):
        found = [each and form(each) for each in codes]
        if form(code) in found:
            return found.index(form(code))
    return None


def language_of_files(paths):
    """Returns the language that all files are named after, such as `train.en`, or None."""
    found = set()
    for path in paths:
        parts = str(path).replace("\\", "/").rpartition("/")[2].split(".")[1:]
        while parts and parts[-1].lower() in NOT_A_LANGUAGE:
            parts.pop()
        code = code_of(parts[-1]) if parts else None
        found.add(code if code and code.partition("-")[0] in NAMES else None)
    return found.pop() if len(found) == 1 else None
