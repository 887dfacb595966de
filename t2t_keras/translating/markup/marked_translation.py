"""Divides texts with markup before translation, and joins the translations."""

from typing import Any, NamedTuple

from pipelines.markup.marked_text import pieces_of
from pipelines.markup.placeholders import escaped, without_placeholders
from t2t_keras.translating.markup.marked_text import marked_text
from t2t_keras.translating.sentences import joined_texts, on_one_line


class MarkedText(NamedTuple):
    """A text with markup, ready to translate.

    Args:
        pieces: strings that are kept, and `Segment`s that are translated.
        segments: (sentences, separators between them) for each `Segment`.
        code: the language code before the text, or "".
        markup: see `Request`.
    """

    pieces: list
    segments: list
    code: str
    markup: str

    @property
    def sentences(self):
        return [sentence for sentences, _ in self.segments for sentence in sentences] or [""]

    def with_code(self):
        """Returns the sentences, the first with the language code, and the separators.

        The separators are line breaks, and the translation has no other line breaks.
        """
        first, *rest = self.sentences
        return [f"{self.code} {first}" if self.code else first, *rest], ["\n"] * len(rest)

    @property
    def has_marks(self):
        """Whether a segment contains marks, which are placed according to the alignment."""
        return any(each.marks for each in self.pieces if not isinstance(each, str))

    def marked(self, translation, requirements, prefix, words, split_code):
        """Returns the text of a translation with the markup of its source.

        Args:
            translation: the translation of the sentences, as a string.
            requirements: the `Requirements` of the text.
            prefix: text that the translation begins with.
            words: the aligned `Words`. They are not used if there are no marks.
            split_code: see `with_codes`.
        """
        count = len(self.sentences)
        # The translation of a single sentence may itself contain line breaks.
        texts = translation.split("\n") if count > 1 else [on_one_line(translation)]
        texts = [
            without_placeholders(
                each,
                sentence,
                [prefix] * (index == 0) + requirements.of_sentence(sentence),
            )
            for index, (each, sentence) in enumerate(zip(texts, self.sentences, strict=True))
        ]
        aligned = self.aligned(texts, words, split_code) if self.has_marks else None
        written, taken = [], 0
        segments = iter(self.segments)
        for piece in self.pieces:
            if isinstance(piece, str):
                written.append(piece)
                continue
            sentences, separators = next(segments)
            own = slice(taken, taken + len(sentences))
            taken = own.stop
            if texts[own] == sentences:
                written.append(piece.raw)  # unchanged, even entities: nothing was translated
                continue
            joined = joined_texts(texts[own], separators)
            inside = aligned.between(own) if aligned else ([], [], [])
            translated = marked_text(piece, joined, *inside, self.escape)
            written += [piece.before, translated, piece.after]
        return "".join(written)

    def escape(self, text):
        return escaped(text, self.markup)

    def aligned(self, texts, words, split_code):
        return AlignedWords(
            by_sentence([split_code(each)[1] for each in self.sentences], words.source),
            by_sentence(texts, words.target),
            *words,
        )


def marked_text_of(text, markup, split, split_code):
    """Returns the `MarkedText` of a text.

    Args:
        text: a string, or the pieces of a line from `Document.pieces_of`.
        markup: see `Request`.
        split: function that takes a text and returns its sentences and the separators between
            them.
        split_code: see `with_codes`.
    """
    if isinstance(text, str):
        code, text = split_code(text)
        pieces = pieces_of(text, markup)
        if text.strip() == "":
            pieces = []  # its translation is empty, as without markup
    else:
        code, pieces = without_code(text, split_code)
    segments = [split(each.text) for each in pieces if not isinstance(each, str)]
    return MarkedText(pieces, segments, code, markup)


def without_code(pieces, split_code):
    """Returns the language code before the first text of a line's pieces, and the rest."""
    for index, piece in enumerate(pieces):
        if not isinstance(piece, str):
            code, rest = split_code(piece.text)
            if code:
                piece = piece.without_start(len(piece.text) - len(rest))
            return code, [*pieces[:index], piece, *pieces[index + 1 :]]
    return "", pieces


class AlignedWords(NamedTuple):
    """The words of a text and of its translation.

    Args:
        source_ends, target_ends: number of words up to the end of each sentence.
        source, target: the words.
        pairs: (source word, target word) indices.
    """

    source_ends: list
    target_ends: list
    source: list
    target: list
    pairs: Any

    def between(self, sentences):
        """Returns the source words, target words and pairs of a slice of the sentences."""
        first, last = sentences.start, sentences.stop - 1
        begin, end = (self.source_ends[first - 1] if first else 0), self.source_ends[last]
        start, stop = (self.target_ends[first - 1] if first else 0), self.target_ends[last]
        pairs = [(i - begin, j - start) for i, j in self.pairs if begin <= i < end]
        pairs = [(i, j) for i, j in pairs if 0 <= j < stop - start]
        return self.source[begin:end], self.target[start:stop], pairs


def by_sentence(sentences, words):
    """Returns the number of words up to the end of each sentence.

    A word belongs to the sentence that contains its middle letter, not counting white space. If the
    tokenizer has changed letters, lengths are scaled to match.
    """
    letters = [len("".join(sentence.split())) for sentence in sentences]
    sizes = [len("".join(word.split())) for word in words]
    scale = sum(sizes) / max(sum(letters), 1)
    ends, word, covered, needed = [], 0, 0, 0
    for count in letters:
        needed += count * scale
        while word < len(sizes) and covered + sizes[word] / 2 <= needed:
            covered += sizes[word]
            word += 1
        ends.append(word)
    if ends:
        ends[-1] = len(words)
    return ends
