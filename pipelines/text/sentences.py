"""Splits texts into sentences, because models learn from sentences and users paste paragraphs.

A text is a sequence of words with white space between them. Whether a sentence ends between two
words depends only on these words and on the white space.
"""

import re

# White space between words. A no-break space is part of a word, as in "z. B.".
SPACE = "\t-\r\x1c- \x85\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
LINE_BREAK = f"[{SPACE}]*[\n-\r\x85\u2028\u2029][{SPACE}]*"
STOP = ".!?…‼⁇⁈⁉؟۔।॥։።"
WIDE_STOP = "。！？｡"  # often not followed by a space
CLOSING = "\"'”’“‘»«›‹)\\]}」』）】》〉〕\u00a0\u202f"
OPENING = "\"'“„‚‘»«›‹”’(\\[{「『（【《〈〔¿¡*–—\\-"
# Either a wide stop, which may be followed by white space, or white space alone.
BREAK = f"([{WIDE_STOP}]+[{CLOSING}]*)([{SPACE}]*)|([{SPACE}]+)"

LETTERS = "A-Za-zÀ-ÖØ-öø-ɏΑ-Ωα-ωЁА-яё"

# Abbreviations after which a sentence continues.
TITLES = (
    "Mr Mrs Ms Mx Messrs Dr Drs Prof Rev Hon Gen Lt Col Maj Capt Cpt Sgt Cmdr Gov Sen Rep Pres St "
    "Ste Mt Hr Hrn Fr Frl Dipl Ing Mag Mme Mlle MM Mgr Sra Srta Sig"
)
UNFINISHED = (
    "e\\.?g i\\.e cf viz vs approx resp z\\.b d\\.h bzw ca vgl evtl ggf sog inkl exkl zzgl bspw "
    "z\\.\u00a0b d\\.\u00a0h i\\.d\\.r u\\.u z\\.t p\\.ex ej"
)
# Abbreviations after which a sentence continues with a number.
BEFORE_NUMBERS = (
    "no nos nr nrn p pp s vol fig figs eq sec sect ch chap art abs abschn bd kap abb tab ziff § "
    "tel op n n° num ref approx born"
)
# Abbreviations that end a sentence only if the next word often starts one. Initials and short
# numbers are treated the same way.
AMBIGUOUS = (
    "Inc Ltd Corp Co Bros Jr Sr Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Okt Nov Dec Dez Mio Mrd "
    "Tsd Std Str Ave Blvd Rd geb gest"
)
STARTERS = (
    "The This That These Those There Then Some Many All Most Up A An He She It They We You I In On "
    "At As But And So If When While What Why How Who Where His Her Its Their My Our Your After "
    "Before However No Yes Not "
    "Der Die Das Dies Dieser Diese Dieses Ein Eine Er Sie Es Wir Ihr Ich Du Man Im Am Auf Aber "
    "Und Doch Wenn Als Da Dann Dort Hier Nach Vor Bei Mit Seine Ihre Mein Meine Was Warum Wie Wer "
    "Wo Nein Ja Nicht Auch Jetzt Heute "
    "Le La Les Un Une Il Elle Ils Elles Nous Vous Je Ce Cette Et Mais El Los Las Una Ella Pero"
)


def one_of(words):
    return "|".join(words.split(" "))


BEGIN, AFTER = f"[{OPENING}]*", f"\\.[{CLOSING}]*"
NUMBER = "[0-9]{1,3}|[IVX]{2,6}"  # ordinal, or item of a list
INITIALS = f"([{LETTERS}]\\.[\u00a0\\-]?)*[{LETTERS}]"
# {name: regular expression for whole words}
PATTERNS = {
    "end": f".*[{STOP}{WIDE_STOP}][{CLOSING}]*",  # may end a sentence
    # Its first letter, unless that is a lower-case one, may begin a sentence.
    "start": f"{BEGIN}([^,;:&=%|{CLOSING}{OPENING}{STOP}{WIDE_STOP}]).*",
    "full stop": ".*[.…]",  # ends with a full stop or an ellipsis, unquoted
    "dash": "[–—\\-]+",
    "digit": f"{BEGIN}[0-9].*",
    "starter": f"{BEGIN}({one_of(STARTERS)})([^{LETTERS}].*)?",  # often begins a sentence
    # Abbreviations after which a sentence continues: always, or before a number.
    "unfinished": f"{BEGIN}({one_of(TITLES)}|(?i:{one_of(UNFINISHED)})){AFTER}",
    "before number": f"{BEGIN}(?i:{one_of(BEFORE_NUMBERS)}){AFTER}",
    # An abbreviation after which only a starter begins a sentence.
    "ambiguous": f"{BEGIN}({one_of(AMBIGUOUS)}|{NUMBER}|{INITIALS}){AFTER}",
    "quoted": ".*[」』）】》〉〕]",  # ends with a closing bracket
    "speaks on": "(と|って).*",  # continues a sentence after a quotation
    "line break": LINE_BREAK,
}


def split_sentences(text):
    """Returns a list of one or more sentences, and a list of the separators between them.

    Joining them restores the text: the first sentence includes the text's leading white space, the
    last one its trailing white space. A separator is "" if no space follows a wide full stop.
    """
    sentences, separators = [], []
    begin, word, gap = 0, "", None  # gap: (start, end) of the white space after `word`
    for start, end, next_start in words_of(text):
        if gap and ends_between(word, text[slice(*gap)], text[start:end]):
            sentences.append(text[begin : gap[0]])
            separators.append(text[slice(*gap)])
            begin = start
        word, gap = text[start:end], (end, next_start)
    return [*sentences, text[begin:]], separators


def words_of(text):
    """Yields the start and the end of each word, and the end of the white space after it."""
    start = 0
    for match in re.finditer(BREAK, text):
        yield start, match.end(1) if match[1] else match.start(), match.end()
        start = match.end()
    yield start, len(text), len(text)


def ends_between(before, space, after):
    """Returns whether a sentence ends at the white space between two words."""
    if not before or not after:  # at the beginning or end of the text
        return False

    def matches(name, word):
        return re.fullmatch(PATTERNS[name], word)

    def starts():
        start = matches("start", after)
        return start and not start[1].islower()

    return matches("line break", space) or (
        matches("end", before)
        and (starts() or (matches("full stop", before) and matches("dash", after)))
        and not matches("unfinished", before)
        and not (matches("before number", before) and matches("digit", after))
        and (matches("starter", after) or not matches("ambiguous", before))
        and not (matches("quoted", before) and matches("speaks on", after))
    )
