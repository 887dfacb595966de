"""Penn-style trees as token sequences, and back. PAPER: §6.3, English constituency parsing.

    (S (NP (PRP I)) (VP (VBP see) (NP (PRP you))))
    words    I see you
    brackets (S (NP PRP )NP (VP VBP (NP PRP )NP )VP )S

A closing bracket names what it closes. What stands for a word among the brackets is its tag,
or `XX` for every tag (Vinyals et al. 2015, whom the paper follows), or the word itself, its tag
dropped. With tags, words and brackets together are the tree again, exactly.
"""

import dataclasses
import difflib
import itertools
import re

from pipelines.sources import SourceError, digest_of, find_files, lines_of, shown

LEAVES = ("tag", "XX", "word")
DEEPEST = 300  # nobody's sentence; the deepest tree of CRAFT has 37 constituents in each other
ROOT = "TOP"  # put over what a repair finds lying beside each other


@dataclasses.dataclass
class Tree:
    """A constituent: a label over other trees, or a tag over one word.

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
        """The tags with their words, from left to right."""
        if self.is_leaf:
            yield self
        else:
            for child in self.children:
                yield from child.leaves()

    def words(self):
        return [leaf.children[0] for leaf in self.leaves()]

    def __str__(self):
        # Not through str(), whose own steps would count against Python's limit to recursion.
        inside = self.children if self.is_leaf else [child.__str__() for child in self.children]
        return f"({self.label} {' '.join(inside)})"


def read_trees(paths):
    """Yields the trees of some files, whether a tree has one line or several.

    Args:
        paths: a path, a glob, or several with commas; `.gz` is unpacked.
    """
    for path in find_files("treebank", paths):
        lines = enumerate(lines_of([path]), start=1)
        yield from trees_of(((number, utf8(path, number, line)) for number, line in lines), path)


def utf8(path, number, line):
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}, line {number}: not UTF-8: {shown(line)}") from error


def parse(text):
    """The one tree that a string holds."""
    trees = list(trees_of(enumerate(text.split("\n"), start=1), "The text"))
    if len(trees) != 1:
        raise SourceError(f"The text must hold one tree. Received: {len(trees)}")
    return trees[0]


def trees_of(lines, path):
    """Yields trees from numbered lines."""
    open_trees, begun = [], 0  # labels and children of what is not closed yet; the first one's line
    for number, line in lines:
        where = f"{path}, line {number}"
        tokens = re.findall(r"[()]|[^\s()]+", line)
        for token in tokens:
            if token == "(":
                begun = begun if open_trees else number
                open_trees.append([None, []])
                if len(open_trees) > DEEPEST:
                    raise SourceError(
                        f"{where}: more than {DEEPEST} constituents inside each other: "
                        f"{shown(line.encode())}"
                    )
            elif not open_trees:
                raise SourceError(
                    f"{where}: {token!r} stands outside of every tree. A tree begins with a "
                    f"bracket and ends with its last one: {shown(line.encode())}"
                )
            elif token == ")":
                label, children = open_trees.pop()
                if not children:
                    raise SourceError(
                        f"{where}: the constituent ({label or ''}) has neither word nor "
                        f"constituents: {shown(line.encode())}"
                    )
                tree = Tree(label or "", children)
                if open_trees:
                    add_child(open_trees[-1], tree, where, line)
                else:
                    yield tree
            elif open_trees[-1][0] is None and not open_trees[-1][1]:
                open_trees[-1][0] = token
            else:
                add_child(open_trees[-1], token, where, line)
    if open_trees:
        raise SourceError(
            f"{path}, line {begun}: the tree that begins here is never closed; "
            f"{len(open_trees)} closing brackets are missing at the end"
        )


def add_child(parent, child, where, line):
    """A constituent has constituents, or one word and nothing else."""
    children = parent[1]
    if children and (isinstance(child, str) or isinstance(children[0], str)):
        raise SourceError(
            f"{where}: in ({parent[0] or ''} …), a word must be alone under its tag, as in "
            f"(NN dog): {shown(line.encode())}"
        )
    children.append(child)


def without_traces(tree):
    """The tree as parsers are scored on it: no empty elements, no function tags (NP-SBJ → NP).

    Returns:
        A new tree, or None if it held nothing but traces.
    """
    if tree.label == "-NONE-":
        return None
    if tree.is_leaf:
        return Tree(tree.label, list(tree.children))
    children = [kept for kept in map(without_traces, tree.children) if kept]
    # -LRB- and the like are labels of their own.
    label = re.split(r"[-=|]", tree.label)[0] or tree.label
    return Tree(label, children) if children else None


def linearized(tree, leaves="tag"):
    """A tree's words and its brackets: two lists of tokens."""
    check_leaves(leaves)

    def brackets(tree):
        if tree.is_leaf:
            yield {"tag": tree.label, "XX": "XX", "word": tree.children[0]}[leaves]
        else:
            yield f"({tree.label}"
            for child in tree.children:
                yield from brackets(child)
            yield f"){tree.label}"

    return tree.words(), list(brackets(tree))


def texts_of(tree, leaves="tag"):
    """The pair of texts that a tree is to a model."""
    return tuple(" ".join(side) for side in linearized(tree, leaves))


def tree_of(words, brackets, leaves="tag"):
    """The tree of words and brackets; `ValueError` if they are not those of one.

    With `leaves` other than "tag", every tag is XX.
    """
    check_leaves(leaves)
    repaired, exact = repair(words, brackets, leaves)
    if not exact:
        raise ValueError(
            f"These brackets are not those of a tree over {len(words)} words; repair() makes "
            f"them so. Received: {' '.join(brackets)}"
        )
    return repaired


def repair(words, brackets, leaves="tag"):
    """A tree over exactly these words, whatever a model wrote.

    Closing brackets that close nothing are passed over, and those that close an outer
    constituent close the inner ones too. Constituents without words vanish. Leaves too many are
    passed over, missing ones come at the end; but leaves that are words are matched with the
    sentence's, so that one left out or written otherwise does not move those behind it. What then
    lies beside each other comes under `ROOT`. Constituents deeper than can be read are passed over.

    Returns:
        The tree, and whether nothing had to be repaired.
    """
    check_leaves(leaves)
    if not words:
        raise ValueError("A tree needs at least one word. Received: none")
    written = [token for token in brackets if token[0] not in "()"]
    groups = matched(written, words) if leaves == "word" else in_order(written, words)
    top, exact, next_group = Tree(ROOT, []), written == words or leaves != "word", iter(groups)
    stack = [top]  # the open constituents, the innermost last

    def close():
        closed = stack.pop()
        if closed.children:
            stack[-1].children.append(closed)
        return bool(closed.children)

    for token in brackets:
        if token.startswith("(") and len(stack) == DEEPEST:
            exact = False
        elif token.startswith("("):
            # A second tree beside the first is not one tree.
            exact = exact and not (len(stack) == 1 and top.children)
            stack.append(Tree(token[1:], []))
        elif token.startswith(")"):
            depth = len(stack) - 1
            while depth and stack[depth].label != token[1:]:
                depth -= 1
            exact = exact and depth == len(stack) - 1 > 0
            while depth and len(stack) > depth:
                exact = close() and exact
        else:
            group = next(next_group)
            beside = len(stack) == 1 and top.children
            exact = exact and len(group) == 1 and not beside and (leaves != "XX" or token == "XX")
            label = token if leaves == "tag" else "XX"
            stack[-1].children.extend(Tree(label, [word]) for word in group)
    for word in next(next_group):
        exact = False
        stack[-1].children.append(Tree("XX", [word]))
    while len(stack) > 1:
        exact = False
        close()
    if len(top.children) == 1:
        return top.children[0], exact
    return top, False


def in_order(written, words):
    """For each leaf that was written the word that it stands for, in a list; then the others."""
    count = len(written)
    return [words[place : place + 1] for place in range(count)] + [words[count:]]


def matched(written, words):
    """The same for leaves that are words themselves: those that are equal belong together.

    Words that were not written come to the leaf before them.
    """
    groups = [[] for _ in [*written, None]]
    matcher = difflib.SequenceMatcher(None, written, words, autojunk=False)
    for _, begin, end, first, last in matcher.get_opcodes():
        for number, word in enumerate(words[first:last], begin):
            groups[max(min(number, end - 1), 0)].append(word)
    return groups


def check_leaves(leaves):
    if leaves not in LEAVES:
        raise ValueError(f"`leaves` must be one of {LEAVES}. Received: leaves={leaves!r}")


class TreebankPairs:
    """A treebank as a source of pairs: the words, and the brackets over them.

    Args:
        paths: as for `read_trees`.
        leaves: what stands for a word, "tag", "XX" or "word".
        traces: whether to leave empty elements and function tags in.
    """

    def __init__(self, paths, leaves="XX", traces=False):
        check_leaves(leaves)
        self.files = find_files("treebank", paths)
        self.leaves = leaves
        self.traces = traces

    def trees(self):
        trees = itertools.chain.from_iterable(read_trees(path) for path in self.files)
        for tree in trees:
            tree = tree if self.traces else without_traces(tree)
            if tree:
                yield tree

    def __iter__(self):
        found = False
        for tree in self.trees():
            found = True
            yield tuple(text.encode() for text in texts_of(tree, self.leaves))
        if not found:
            raise SourceError(f"{self.files[0]} holds no tree")

    def symbols(self):
        """The brackets, which are to be one piece each in a vocabulary."""
        found = set()
        for tree in self.trees():
            found.update(t for t in linearized(tree, self.leaves)[1] if t[0] in "()")
        return sorted(found)

    def fingerprint(self):
        """What tells one text from another."""
        return {"treebank": digest_of(self.files), "leaves": [self.leaves, self.traces]}
