"""Conversion of Penn-style trees to token sequences and back. PAPER: §6.3, constituency parsing.

    (S (NP (PRP I)) (VP (VBP see) (NP (PRP you))))
    words    I see you
    brackets (S (NP PRP )NP (VP VBP (NP PRP )NP )VP )S

A closing bracket repeats the label of its constituent. Among the brackets, each word is represented
by its tag, by `XX` (as in Vinyals et al. 2015, whom the paper follows), or by the word itself. If
tags are used, words and brackets together determine the tree exactly.
"""

import dataclasses
import difflib
import itertools
import re

from pipelines.checks import SourceError, check
from pipelines.printable import shown
from pipelines.text.opened_text import find_files
from pipelines.text.sources import digest_of, lines_of

LEAVES = ("tag", "XX", "word")
DEEPEST = 300  # maximum nesting; for comparison, CRAFT's deepest tree has 37 levels
ROOT = "TOP"  # label of the node that joins several trees in a repair


@dataclasses.dataclass
class Tree:
    """A constituent (a label over child trees) or a leaf (a tag over one word).

    >>> tree = parse("(NP (DT the) (NN dog))")
    >>> tree.label, tree.children[1], tree.words()
    ('NP', Tree(label='NN', children=['dog']), ['the', 'dog'])
    >>> print(tree)
    (NP (DT the) (NN dog))
    """

    label: str
    children: list

    @property
    def is_leaf(self):
        return isinstance(self.children[0], str)

    def leaves(self):
        """Yields the leaves from left to right."""
        if self.is_leaf:
            yield self
        else:
            for child in self.children:
                yield from child.leaves()

    def words(self):
        """Returns the words from left to right."""
        return [leaf.children[0] for leaf in self.leaves()]

    def __str__(self):
        # Calling __str__ directly uses less of Python's recursion limit than str().
        inside = self.children if self.is_leaf else [child.__str__() for child in self.children]
        return f"({self.label} {' '.join(inside)})"


def read_trees(paths):
    """Yields the trees of files, as for `find_files`. A tree may span several lines."""
    for path in find_files("treebank", paths):
        yield from trees_of(lines_of([path]), path)


def parse(text):
    """Returns the tree in a string, which must contain exactly one."""
    trees = list(trees_of(text.encode().split(b"\n"), "The text"))
    if len(trees) != 1:
        raise SourceError(f"The text must contain exactly one tree. Received: {len(trees)}")
    return trees[0]


def trees_of(lines, path):
    """Yields the trees in lines of bytes. `path` is the name of the file, for messages."""
    open_trees, first_line = [], 0  # the constituents that are not closed, and where they begin
    for number, line in enumerate(lines, start=1):
        try:
            for token in re.findall(r"[()]|[^\s()]+", line.decode()):
                first_line = first_line if open_trees else number
                if tree := add(token, open_trees):
                    yield tree
        except ValueError as error:
            raise SourceError(f"{path}, line {number}: {error}: {shown(line)}") from error
    if open_trees:
        raise SourceError(
            f"{path}, line {first_line}: the tree that begins here is never closed: "
            f"{len(open_trees)} closing brackets are missing at the end"
        )


def add(token, open_trees):
    """Adds a token to the innermost open constituent. Returns the tree if it is complete."""
    if token == "(":
        if len(open_trees) == DEEPEST:
            raise ValueError(f"more than {DEEPEST} nested constituents")
        open_trees.append(Tree("", []))
        return None
    if not open_trees:
        raise ValueError(f"{token!r} is outside of all trees, which begin and end with brackets")
    child = token
    if token == ")":
        child = open_trees.pop()
        if not child.children:
            raise ValueError(f"the constituent ({child.label}) is empty")
        if not open_trees:
            return child
    parent = open_trees[-1]
    if child is token and not parent.label and not parent.children:
        parent.label = token
        return None
    if parent.children and (child is token or parent.is_leaf):
        raise ValueError(
            f"in ({parent.label} …), a word must be the only child of its tag, as in (NN dog)"
        )
    parent.children.append(child)
    return None


def without_traces(tree):
    """Removes empty elements and function tags (NP-SBJ → NP), as is usual when parsers are scored.

    Returns:
        A new tree, or None if the tree contains nothing but traces.
    """
    if tree.label == "-NONE-":
        return None
    if tree.is_leaf:
        return Tree(tree.label, list(tree.children))
    children = [kept for kept in map(without_traces, tree.children) if kept]
    # Labels that begin with a separator, such as -LRB-, are kept.
    label = re.split(r"[-=|]", tree.label)[0] or tree.label
    return Tree(label, children) if children else None


def linearized(tree, leaves="tag"):
    """Returns the words and the brackets of a tree, as two lists of tokens."""

    def brackets(tree):
        if tree.is_leaf:
            yield {"tag": tree.label, "XX": "XX", "word": tree.children[0]}[leaves]
        else:
            yield f"({tree.label}"
            for child in tree.children:
                yield from brackets(child)
            yield f"){tree.label}"

    return tree.words(), list(brackets(tree))


def repair(words, brackets, leaves="tag"):
    """Returns a tree over exactly these words, even if a model generated invalid brackets.

    - A closing bracket without an opening bracket is ignored. A bracket that closes an outer
      constituent also closes the constituents inside it.
    - Constituents without words are removed, and so are constituents deeper than `DEEPEST`.
    - Surplus leaves are ignored, and missing leaves are added at the end. Leaves that are words are
      aligned with the words of the sentence, so that an omitted or altered word does not shift the
      words after it.
    - Several trees are joined under `ROOT`.

    Returns:
        The tree, and whether it needed no repair.
    """
    if not words:
        raise ValueError("A tree needs at least one word. Received: none")
    written = [token for token in brackets if token[0] not in "()"]
    if leaves == "word":
        groups = aligned(written, words)
    else:  # in order, one word per leaf, and then the remaining words
        count = len(written)
        groups = [words[i : i + 1] for i in range(count)] + [words[count:]]
    groups, top = iter(groups), Tree(ROOT, [])
    stack = [top]  # the open constituents, the innermost last

    def close(depth):
        while len(stack) > depth:
            closed = stack.pop()
            stack[-1].children += [closed] if closed.children else []

    for token in brackets:
        if token.startswith("("):
            if len(stack) < DEEPEST:
                stack.append(Tree(token[1:], []))
        elif token.startswith(")"):
            same = (at for at in range(len(stack) - 1, 0, -1) if stack[at].label == token[1:])
            close(next(same, len(stack)))
        else:
            tag = token if leaves == "tag" else "XX"
            stack[-1].children += [Tree(tag, [word]) for word in next(groups)]
    stack[-1].children += [Tree("XX", [word]) for word in next(groups)]
    close(1)
    tree = top.children[0] if len(top.children) == 1 else top
    return tree, linearized(tree, leaves)[1] == [*brackets]


def aligned(written, words):
    """Assigns words to leaves that are words themselves, by aligning equal words.

    A word without a leaf is assigned to the leaf before it.

    Returns:
        A list of words for each leaf, and a last list. It is empty, unless there are no leaves:
        then it contains all words.
    """
    groups = [[] for _ in [*written, None]]
    matcher = difflib.SequenceMatcher(None, written, words, autojunk=False)
    for _, begin, end, first, last in matcher.get_opcodes():
        for leaf, word in enumerate(words[first:last], begin):
            groups[max(min(leaf, end - 1), 0)].append(word)
    return groups


class TreebankPairs:
    """A treebank as a source of (words, brackets) pairs.

    `leaves`, one of `LEAVES`, is the form of a word among the brackets.
    """

    def __init__(self, paths, leaves="XX"):
        check(leaves in LEAVES, "leaves", leaves, f"one of {LEAVES}")
        self.files = find_files("treebank", paths)
        self.leaves = leaves

    def trees(self):
        """Yields the trees without traces."""
        for path in self.files:
            yield from filter(None, map(without_traces, trees_of(lines_of([path]), path)))

    def __iter__(self):
        for tree in self.trees():
            yield tuple(" ".join(side).encode() for side in linearized(tree, self.leaves))

    def symbols(self):
        """Returns all distinct brackets. A vocabulary should have one piece for each bracket."""
        symbols = set()
        for tree in self.trees():
            symbols.update(t for t in linearized(tree, self.leaves)[1] if t[0] in "()")
        return sorted(symbols)

    def fingerprint(self):
        """Returns a digest of the files, the form of the leaves, and that traces are not kept."""
        return {"treebank": digest_of(self.files), "leaves": [self.leaves, False]}


def write_mixed(path, gold, automatic, ratio=None):
    """Writes gold and automatically parsed trees to one file, one per line, without traces.

    If a ratio is given, the treebank that is too small is repeated in order until the ratio is
    exact. The other treebank is written once. The order of the trees does not matter, because every
    epoch draws its batches from the whole file.

    Args:
        path: the file to write.
        gold, automatic: files, as for `read_trees`.
        ratio: number of automatic trees per gold tree. If None, every tree is written once.

    Returns:
        The numbers of gold and automatic trees in the file.
    """
    banks = [TreebankPairs(files) for files in (gold, automatic)]
    with open(path, "w", encoding="utf-8") as file:
        sizes = [sum(1 for tree in bank.trees() if file.write(f"{tree}\n")) for bank in banks]
        if not all(sizes):
            raise SourceError(f"{banks[sizes.index(0)].files[0]} contains no tree")
        needed = sizes if ratio is None else (round(sizes[1] / ratio), round(sizes[0] * ratio))
        totals = tuple(map(max, sizes, needed))
        for bank, size, total in zip(banks, sizes, totals, strict=True):
            again = itertools.chain.from_iterable(bank.trees() for _ in itertools.count())
            file.writelines(f"{tree}\n" for tree in itertools.islice(again, total - size))
    return totals
