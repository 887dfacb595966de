"""An input of t2t-translate with markup: its lines are one document."""

import re
import sys

from pipelines.markup.marked_text import Document, Segment
from pipelines.text.sources import BYTE_ORDER_MARK

NOT_UTF8 = re.compile("[\udc80-\udcff]")  # malformed bytes as decoded by "surrogateescape"


class MarkedLines:
    """Divides the lines of a document, and writes the translated page.

    If the output is no page, but objects or columns, sentences end with their lines. On a page,
    bytes that are not UTF-8, line ends and a byte order mark are kept.
    """

    def __init__(self, markup, is_page):
        self.document, self.is_page, self.is_xml = Document(markup), is_page, markup == "xml"

    def divided(self, lines):
        """Returns texts of the next lines as lists of pieces, and each text's first line."""
        texts, numbers = self.texts_of_page(lines) if self.is_page else self.texts_by_line(lines)
        if self.is_xml and (name := self.document.elements.mismatched):
            print(f"WARNING: </{name}> does not match the element before it", file=sys.stderr)
            self.is_xml = False  # named once
        return [[readable(piece) for piece in text] for text in texts], numbers

    def texts_by_line(self, lines):
        lines = [line.removeprefix(BYTE_ORDER_MARK).rstrip(b"\r\n") for line in lines]
        texts = [self.document.pieces_of(line.decode("utf-8", "replace")) for line in lines]
        return texts, [*range(len(texts))]

    def texts_of_page(self, lines):
        """Returns texts that end at line breaks between sentences, and each text's first line."""
        page = b"".join(lines)
        mark = BYTE_ORDER_MARK if page.startswith(BYTE_ORDER_MARK) else b""
        pieces = self.document.pieces_of(page[len(mark) :].decode("utf-8", "surrogateescape"))
        texts, numbers, line = [[mark.decode()]], [0], 0
        for piece in pieces:
            is_kept = isinstance(piece, str)
            texts[-1].append(piece)
            line += (piece if is_kept else piece.raw).count("\n")
            if is_kept and "\n" in piece and line < len(lines):
                texts.append([])
                numbers.append(line)
        return texts, numbers

    def page(self, results):
        """Returns the lines of the page in bytes, given the `Translation`s of each text."""
        return b"".join(best.text.encode("utf-8", "surrogateescape") for best, *_ in results)


def readable(piece):
    """Replaces malformed bytes in a piece by U+FFFD if the piece is to be translated."""
    if not isinstance(piece, Segment):
        return piece
    return piece._replace(text=NOT_UTF8.sub("\ufffd", piece.text))
