"""Word alignments of the toy corpus, known because a grammar makes both languages.

Words that express the same meaning get the same key. Sure links connect words that translate each
other. Possible links connect function words without a counterpart to the word that expresses them:
"hat" in "hat gesehen" to "saw", "for" in "looks for" to "sucht".
"""


class Linked(str):
    """One or several words of a sentence, with the keys of their meanings.

    The words express the `sure` meanings, and help to express the `possible` ones.
    """

    def __new__(cls, text, sure=(), possible=()):
        words = super().__new__(cls, text)
        words.sure, words.possible = frozenset(sure), frozenset(possible)
        return words


def linked(english, german):
    """Returns the words of both languages with the same new key."""
    key = object()
    return Linked(english, [key]), Linked(german, [key])


def key_of(word):
    """Returns the key of the meaning that a `Linked` word expresses."""
    (key,) = word.sure
    return key


def alignment(english, german):
    """Returns the links between two sentences, lists of `Linked`, such as `0-0 1-2 1p1`.

    A comma belongs to the preceding word and has no index.
    """
    sure, possible = set(), set()
    for source, read in placed(english):
        for target, written in placed(german):
            if read.sure & written.sure:
                sure |= diagonal(source, target)
            elif not (read.sure | read.possible) & (written.sure | written.possible):
                continue
            possible |= {(i, j) for i in source for j in target}
    links = sorted([(*link, "-") for link in sure] + [(*link, "p") for link in possible - sure])
    return " ".join(f"{i}{mark}{j}" for i, j, mark in links)


def placed(units):
    """Yields the word indices of each unit, and the unit."""
    index = 0
    for unit in units:
        if unit != ",":
            size = len(unit.split())
            yield range(index, index + size), unit
            index += size


def diagonal(source, target):
    """Returns the sure links of two phrases: word by word, or only the ends if lengths differ."""
    if len(source) == len(target):
        return set(zip(source, target, strict=True))
    ends = {(source[0], target[0])}
    if min(len(source), len(target)) > 1:
        ends.add((source[-1], target[-1]))
    return ends
