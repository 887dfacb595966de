"""Glossaries: source phrases and their required translations."""

import collections
from typing import NamedTuple

from pipelines.glossaries.glossary_files import LONGEST, entries_in
from pipelines.text.normalization import Normalization, is_edge, is_word_character, spans_of
from pipelines.text.opened_text import opened


class Matches(NamedTuple):
    """The phrases of a glossary that apply to a text.

    Args:
        text: the text, normalized.
        found: (start, end, target phrase) for each phrase, from left to right.
    """

    text: str
    found: list

    def targets(self):
        """Returns the target phrases, each as often as a translation must contain it.

        A phrase inside a longer one, such as "Haus" in "rotes Haus", must occur once more for each
        occurrence of the longer phrase.
        """
        targets = [target for _, _, target in self.found]
        return [
            phrase
            for phrase in dict.fromkeys(targets)
            for other in targets
            for _ in spans_of(phrase, other)
        ]


class Glossary:
    """Phrases and their translations.

    Args:
        entries: {source phrase: target phrase}.
        normalization: the `Normalization` of the vocabulary, applied to all phrases and texts.
            If None, the default.
    """

    def __init__(self, entries, normalization=None):
        self.normalization = Normalization() if normalization is None else normalization
        self.targets = {}
        self.lengths = collections.defaultdict(set)  # {first word: lengths of the phrases}
        for source, target in entries.items():
            self.add(source, target)

    @classmethod
    def read(cls, path, normalization=None, languages=None):
        """Reads a glossary from a file: TSV, CSV or TBX; see `glossary_files.py`.

        `languages` are the codes of the source and the target language, which select the terms in a
        file with several languages. None: not known.
        """
        with opened(path) as file:
            return cls.parse(file.read(LONGEST + 1), path, normalization, languages)

    @classmethod
    def parse(cls, contents, name, normalization=None, languages=None):
        """Parses the contents of a file, in bytes; see `read`. `name` is for error messages."""
        glossary, line = cls({}, normalization), None
        try:
            for number, *phrases in entries_in(contents, name, languages):
                line = number
                glossary.add(*phrases)
        except ValueError as error:
            line = getattr(error, "line", line)
            place = name if line is None else f"{name}, line {line:,}"
            raise ValueError(f"{place}: {error}") from error
        return glossary

    def add(self, source, target):
        """Adds a phrase and its translation."""
        if not (isinstance(source, str) and isinstance(target, str)):
            raise ValueError(f"phrases must be strings. Received: {source!r} for {target!r}")
        source, target = self.normalization(source), self.normalization(target)
        if not source or not target:
            raise ValueError(f"a phrase is empty. Received: {source!r} for {target!r}")
        if self.targets.setdefault(source, target) != target:
            raise ValueError(
                f"{source!r} has two translations, {self.targets[source]!r} and {target!r}. "
                "Delete one of them"
            )
        self.lengths[first_word(source, 0)].add(len(source))

    def __len__(self):
        return len(self.targets)

    def matches_in(self, text):
        """Returns the `Matches` in a sentence.

        If phrases overlap in the text, only the longest applies. If several are equally long, the
        first of them applies.
        """
        text = self.normalization(text)
        taken, chosen = set(), []
        for match in sorted(self.matches(text), key=lambda match: (match[0] - match[1], match[0])):
            inside = range(*match[:2])
            if taken.isdisjoint(inside):
                taken.update(inside)
                chosen.append(match)
        return Matches(text, sorted(chosen))

    def matches(self, text):
        """Yields (start, end, target phrase) for each phrase of whole words in a text.

        The first word of a sentence may be capitalized only because of its position, so it is also
        looked up in lower case. Then its target phrase also gets a capital letter.
        """
        for start in range(len(text)):
            if text[start] != " " and is_edge(text, start):
                yield from self.matches_at(text, start)
        first = next((i for i, each in enumerate(text) if is_word_character(each)), None)
        small = "" if first is None else text[first].lower()
        if len(small) == 1 and small != text[first]:
            lower = text[:first] + small + text[first + 1 :]
            for start, end, target in self.matches_at(lower, first):
                yield start, end, capitalized(target)

    def matches_at(self, text, start):
        for length in self.lengths.get(first_word(text, start), ()):
            end = start + length
            target = self.targets.get(text[start:end])
            if target is not None and end <= len(text) and is_edge(text, end):
                yield start, end, target


def capitalized(phrase):
    """Returns a phrase with a capital letter, unless its first word has one already ("iPhone")."""
    return phrase[0].title() + phrase[1:] if phrase.split()[0].islower() else phrase


def first_word(text, start):
    """Returns the word that begins at an index, or one character if no word begins there."""
    end = start
    while end < len(text) and is_word_character(text[end]):
        end += 1
    return text[start : max(end, start + 1)]
