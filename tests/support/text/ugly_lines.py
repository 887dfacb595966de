"""Lines that no one would write: every category of Unicode, malformed UTF-8, megabytes."""

import functools
import random
import sys
import unicodedata

# Bytes that are not UTF-8: stray, truncated and overlong sequences, surrogates, beyond Unicode.
MALFORMED = (
    *(b"\x80", b"\xff", b"\xfe\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf"),
    *(b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80"),
)
LINE_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # of some programs, but not of ours
FIXED = [
    *(b"", b" ", b"\0", b"\0\0\0", b"\r", b"\r\r", b"a\rb", b"\t", b"\xef\xbb\xbf"),
    b"\xef\xbb\xbfA.",
    *(text.encode() for mark in LINE_BREAKS for text in (mark, f"a{mark}b")),
    "\u0301\u0308\u20dd".encode(),
    "\u202e\u2067\u200f".encode(),
    "שלום עולם \u202e und عربي".encode(),
    "\ue000\U000f0000\U0010fffd".encode(),
    "\ufdd0\ufffe\uffff\U0010ffff".encode(),
    "▁ ▁▁ <s> </s> <pad> <unk> <0x41> ##▁a \u2047 ⁇ \ufffd".encode(),
    "e\u0301 é o\u0308 ﬁ ① Å Å 한국어 각".encode(),
    *MALFORMED,
]


@functools.cache
def characters_by_category():
    """Returns {general category of Unicode: its characters}, without surrogates and "\\n"."""
    categories = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if category != "Cs" and character != "\n":
            categories.setdefault(category, []).append(character)
    return categories


def ugly_lines(count, seed=0, megabytes=1):
    """Returns `count` lines of bytes without line feeds; `megabytes` of them are that long."""
    draw = random.Random(seed)
    kinds = [one_category, mixed, noise, words]
    lines = FIXED[:count]
    while len(lines) < count - megabytes:
        lines.append(draw.choice(kinds)(draw))
    lines += [(words(draw) * (1 << 20))[: 1 << 20] for _ in range(count - len(lines))]
    draw.shuffle(lines)
    return lines


def one_category(draw):
    category = draw.choice(sorted(characters_by_category()))
    return "".join(draw.choices(characters_by_category()[category], k=length(draw))).encode()


def mixed(draw):
    groups = list(characters_by_category().values())
    return "".join(draw.choice(draw.choice(groups)) for _ in range(length(draw))).encode()


def noise(draw):
    return draw.randbytes(length(draw)).replace(b"\n", b"")


def words(draw):
    return " ".join(draw.choices(["The", "dog", "sleeps.", "a", "cat"], k=length(draw))).encode()


def length(draw):
    return draw.choice([1, 2, 5, 10, 20])
