"""An input of t2t-translate with markup: its lines are one document."""

import re

from pipelines.markup.marked_text import Document, Segment
from pipelines.text.sources import BYTE_ORDER_MARK

NOT_UTF8 = re.compile("[\udc80-\udcff]")  # malformed bytes as decoded by "surrogateescape"


class MarkedLines:
    """Divides the lines of a document, and writes the translated page.

    Args:
        markup: "html" or "xml".
        is_page: whether the output is also a page, not objects or columns. Then bytes that are not
            UTF-8, line ends and a byte order mark are kept.
    """

    def __init__(self, markup, is_page):
        self.document, self.is_page = Document(markup), is_page

    def divided(self, lines):
        """Returns the pieces of each of the next lines, which are bytes."""
        errors = "surrogateescape" if self.is_page else "replace"
        texts = [bare(line).decode("utf-8", errors) for line in lines]
        return [[readable(piece) for piece in self.document.pieces_of(text)] for text in texts]

    def page(self, results, lines):
        """Returns the lines of the page in bytes, with the line ends that `divided` left out.

        Args:
            results: the `Translation`s of each line, best first.
            lines: bytes, as given to `divided`.
        """
        return b"".join(
            line[: start_of(line)]
            + best.text.encode("utf-8", "surrogateescape")
            + line[start_of(line) + len(bare(line)) :]
            for line, (best, *_) in zip(lines, results, strict=True)
        )


def start_of(line):
    return len(BYTE_ORDER_MARK) if line.startswith(BYTE_ORDER_MARK) else 0


def bare(line):
    return line[start_of(line) :].rstrip(b"\r\n")


def readable(piece):
    """Replaces malformed bytes in a piece by U+FFFD if the piece is to be translated."""
    if not isinstance(piece, Segment):
        return piece
    return piece._replace(text=NOT_UTF8.sub("\ufffd", piece.text))
