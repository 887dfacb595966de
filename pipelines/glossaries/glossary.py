"""Glossaries: source phrases and their required translations."""

import collections
import contextlib
import heapq

from pipelines.checks import LineError
from pipelines.glossaries.glossary_files import LONGEST, entries_in
from pipelines.text.normalization import Normalization, is_edge, is_word_character
from pipelines.text.opened_text import opened


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

        Args:
            path: path of the file.
            normalization: see the class.
            languages: codes of the source and the target language, which select the terms in a
                file with several languages. None: not known.
        """
        with opened(path) as file:
            return cls.parse(file.read(LONGEST + 1), path, normalization, languages)

    @classmethod
    def parse(cls, contents, name, normalization=None, languages=None):
        """Parses the contents of a file, in bytes; see `read`. `name` is for error messages."""
        glossary = cls({}, normalization)
        try:
            for number, source, target in entries_in(contents, name, languages):
                with in_line(number):
                    glossary.add(source, target)
        except LineError as error:
            raise ValueError(f"{name}, line {error.line:,}: {error}") from error
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
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

    def targets_in(self, text):
        """Returns the target phrases that a translation of a text must contain.

        A phrase is listed as often as it must occur. A phrase inside a longer one, such as "Haus"
        in "rotes Haus", must occur once more for each occurrence of the longer phrase.

        Args:
            text: a sentence.
        """
        text = self.normalization(text)
        found = [target for _, _, target in self.chosen(text)]
        return [
            phrase
            for phrase in dict.fromkeys(found)
            for _ in range(sum(occurrences(phrase, other) for other in found))
        ]

    def chosen(self, text):
        """Returns (start, end, target phrase) for each phrase that applies, from left to right.

        If phrases overlap in the text, only the longest applies. If several are equally long, the
        first of them applies.
        """
        taken, chosen, waiting = set(), [], []
        for order, matches in enumerate(self.matches(text)):
            push_next(waiting, order, matches)
        while waiting:
            _, start, order, match, matches = heapq.heappop(waiting)
            if start in taken:
                continue
            # A longer phrase that overlaps this one covers its first or its last character.
            if match[1] - 1 in taken:
                push_next(waiting, order, matches)
                continue
            taken.update(range(*match[:2]))
            chosen.append(match)
        return sorted(chosen)

    def matches(self, text):
        """Yields an iterator over the matches at each index where a phrase may begin.

        The first word of a sentence may be capitalized only because of its position, so it is also
        looked up in lower case. Then its target phrase gets a capital letter, too.
        """
        beginning = next((i for i, each in enumerate(text) if is_word_character(each)), None)
        for start in range(len(text)):
            if text[start] != " " and is_edge(text, start):
                yield self.matches_at(text, start)
        if beginning is not None:
            small = text[beginning].lower()
            if small != text[beginning] and len(small) == 1:
                lower = text[:beginning] + small + text[beginning + 1 :]
                matches = self.matches_at(lower, beginning)
                yield ((start, end, capitalized(target)) for start, end, target in matches)

    def matches_at(self, text, start):
        """Yields (start, end, target phrase) for phrases of whole words, longest first."""
        for length in sorted(self.lengths.get(first_word(text, start), ()), reverse=True):
            end = start + length
            target = self.targets.get(text[start:end])
            if target is not None and end <= len(text) and is_edge(text, end):
                yield start, end, target


def push_next(waiting, order, matches):
    """Adds the next match of an iterator to a heap. The longest, then leftmost, match is on top."""
    for match in matches:
        start, end, _ = match
        heapq.heappush(waiting, (start - end, start, order, match, matches))
        return


@contextlib.contextmanager
def in_line(number):
    """Turns a `ValueError` into a `LineError` with this line."""
    try:
        yield
    except ValueError as error:
        raise LineError(number, str(error)) from error


def capitalized(phrase):
    """Returns a phrase with a capital letter, unless its first word has one already ("iPhone")."""
    return phrase[0].title() + phrase[1:] if phrase.split()[0].islower() else phrase


def first_word(text, start):
    """Returns the word that begins at an index, or one character if no word begins there."""
    end = start
    while end < len(text) and is_word_character(text[end]):
        end += 1
    return text[start : max(end, start + 1)]


def occurrences(phrase, text):
    """Returns how often a phrase occurs in a text as whole words, without overlap."""
    count = start = 0
    while (start := text.find(phrase, start)) >= 0:
        whole = is_edge(text, start) and is_edge(text, start + len(phrase))
        count += whole
        start += len(phrase) if whole else 1
    return count
