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

from pipelines.printable import shown
from pipelines.text.file_lists import find_files
from pipelines.text.sources import SourceError, digest_of, lines_of

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
    """Yields the trees of files. A tree may span several lines.

    Args:
        paths: a path, a glob, or several of them separated by commas. Compressed files are
            decompressed.
    """
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
    open_trees = []  # [label, children] of each constituent that is not closed yet
    first_line = 0  # number of the line where the outermost open constituent begins
    for number, line in enumerate(lines, start=1):

        def wrong(message, number=number, line=line):
            return SourceError(f"{path}, line {number}: {message}: {shown(line)}")

        try:
            tokens = re.findall(r"[()]|[^\s()]+", line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise wrong("not UTF-8") from error
        for token in tokens:
            if token == "(":
                first_line = first_line if open_trees else number
                open_trees.append([None, []])
                if len(open_trees) > DEEPEST:
                    raise wrong(f"more than {DEEPEST} nested constituents")
                continue
            if not open_trees:
                raise wrong(
                    f"{token!r} is outside of all trees. A tree begins with an opening bracket and "
                    "ends with the matching one"
                )
            child = token
            if token == ")":
                label, children = open_trees.pop()
                if not children:
                    raise wrong(f"the constituent ({label or ''}) is empty")
                child = Tree(label or "", children)
                if not open_trees:
                    yield child
                    continue
            elif open_trees[-1] == [None, []]:
                open_trees[-1][0] = token
                continue
            # A constituent has either child trees or one word.
            label, siblings = open_trees[-1]
            if siblings and (isinstance(child, str) or isinstance(siblings[0], str)):
                raise wrong(
                    f"in ({label or ''} …), a word must be the only child of its tag, as in "
                    "(NN dog)"
                )
            siblings.append(child)
    if open_trees:
        raise SourceError(
            f"{path}, line {first_line}: the tree that begins here is never closed: "
            f"{len(open_trees)} closing brackets are missing at the end"
        )


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

    Args:
        words: a list of words.
        brackets: a list of tokens.
        leaves: the form of the leaves among the brackets, one of `LEAVES`.

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
    top, is_exact, groups = Tree(ROOT, []), written == words or leaves != "word", iter(groups)
    stack = [top]  # the open constituents, the innermost last

    def close():
        closed = stack.pop()
        if closed.children:
            stack[-1].children.append(closed)
        return bool(closed.children)

    for token in brackets:
        if token.startswith("(") and len(stack) == DEEPEST:
            is_exact = False
        elif token.startswith("("):
            is_second_tree = len(stack) == 1 and top.children
            is_exact = is_exact and not is_second_tree
            stack.append(Tree(token[1:], []))
        elif token.startswith(")"):
            depth = len(stack) - 1
            while depth and stack[depth].label != token[1:]:
                depth -= 1
            is_exact = is_exact and depth == len(stack) - 1 > 0
            while depth and len(stack) > depth:
                is_exact = close() and is_exact
        else:
            group = next(groups)
            is_second_tree = len(stack) == 1 and top.children
            is_leaf = len(group) == 1 and (leaves != "XX" or token == "XX")
            is_exact = is_exact and is_leaf and not is_second_tree
            tag = token if leaves == "tag" else "XX"
            stack[-1].children.extend(Tree(tag, [word]) for word in group)
    for word in next(groups):
        is_exact = False
        stack[-1].children.append(Tree("XX", [word]))
    while len(stack) > 1:
        is_exact = False
        close()
    if len(top.children) == 1:
        return top.children[0], is_exact
    return top, False


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

    Args:
        paths: files, as for `read_trees`.
        leaves: the form of a word among the brackets: "tag", "XX" or "word".
    """

    def __init__(self, paths, leaves="XX"):
        if leaves not in LEAVES:
            raise ValueError(f"`leaves` must be one of {LEAVES}. Received: leaves={leaves!r}")
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
        for bank, size in zip(banks, sizes, strict=True):
            if not size:
                raise SourceError(f"{bank.files[0]} contains no tree")
        totals = amounts(*sizes, ratio)
        for bank, size, total in zip(banks, sizes, totals, strict=True):
            for done in range(size, total, size):
                trees = itertools.islice(bank.trees(), total - done)
                file.writelines(f"{tree}\n" for tree in trees)
    return totals


def amounts(gold, automatic, ratio):
    """Returns the numbers of trees in the mixture, given the sizes of the treebanks."""
    if ratio is None:
        return gold, automatic
    if automatic >= ratio * gold:
        return round(automatic / ratio), automatic
    return gold, round(ratio * gold)
