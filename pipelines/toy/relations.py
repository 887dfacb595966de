"""Relations between the English words of the toy corpus, known because a grammar makes them.

`KINDS` lists the kinds. The words of a sentence are separated by spaces and counted from 0.
"""

from typing import NamedTuple

from pipelines.toy.links import placed

# {kind of relation: the word at its start and the word at its end}
KINDS = {
    "determiner": "from a determiner to its noun",
    "subject": "from a verb to the noun or pronoun that is its subject",
    "object": "from a verb to the noun or pronoun that is its accusative object",
    "antecedent": 'from "it" to the noun in an earlier sentence',
}


class Relation(NamedTuple):
    """A relation between two words of a text.

    Args:
        kind: a key of `KINDS`.
        start, end: indices of the words.
    """

    kind: str
    start: int
    end: int

    def moved(self, words):
        """Returns the relation in a text with `words` more words in front."""
        return Relation(self.kind, self.start + words, self.end + words)


def key_of(word):
    """Returns the key of the meaning that a `Linked` word expresses."""
    (key,) = word.sure
    return key


def word_places(units):
    """Returns {key of a meaning: index of the first word that expresses it}.

    Args:
        units: the `Linked` words of a sentence.
    """
    places = {}
    for indices, unit in placed(units):
        for key in getattr(unit, "sure", ()):
            places.setdefault(key, indices[0])
    return places
