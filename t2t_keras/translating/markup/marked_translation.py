"""Divides texts with markup before translation, and joins the translations."""

from typing import NamedTuple

from pipelines.markup.marked_text import pieces_of
from pipelines.markup.placeholders import escaped, without_placeholders
from t2t_keras.translating.markup.marked_text import marked_text
from t2t_keras.translating.sentences import joined_texts, on_one_line
from t2t_keras.translating.words import joined_words


class MarkedText(NamedTuple):
    """A text with markup, ready to translate."""

    pieces: list  # strings that are kept, and `Segment`s that are translated
    segments: list  # (sentences, separators between them) for each `Segment`
    markup: str

    @property
    def sentences(self):
        return [sentence for sentences, _ in self.segments for sentence in sentences] or [""]

    @property
    def has_marks(self):
        """Whether a segment contains marks, which are placed according to the alignment."""
        return any(each.marks for each in self.pieces if not isinstance(each, str))

    def marked(self, translations, kept):
        """Returns the text of a translation with the markup of its source.

        There is a `Translation` for each sentence, with aligned words if there are marks, and in
        `kept` the phrases that it must contain.
        """
        texts = [
            without_placeholders(on_one_line(each.text), sentence, phrases)
            for each, sentence, phrases in zip(translations, self.sentences, kept, strict=True)
        ]
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
            if piece.marks:
                words = joined_words([each.words for each in translations[own]])
                joined = marked_text(piece, joined, *words, self.escape)
            else:
                joined = self.escape(joined)
            written += [piece.before, joined, piece.after]
        return "".join(written)

    def escape(self, text):
        return escaped(text, self.markup)


def marked_text_of(text, markup, split):
    """Returns the `MarkedText` of a string, or of the pieces of a line of a document.

    `split` takes a text and returns its sentences and the separators between them.
    """
    pieces = text
    if isinstance(text, str):  # the translation of white space is empty, as without markup
        pieces = pieces_of(text, markup) if text.strip() else []
    segments = [split(each.text) for each in pieces if not isinstance(each, str)]
    return MarkedText(pieces, segments, markup)
