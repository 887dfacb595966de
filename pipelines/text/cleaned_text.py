"""The cleaned text, stored as plain lines in parts until all of it is encoded.

    cleaned/part-000000/source, target, column-NAME, counts.json

Each part holds the pairs kept out of `PART` pairs read. It becomes one shard of the id store.
"""

import contextlib
import hashlib
import itertools
from collections import Counter

import numpy as np

from pipelines.atomic_files import atomic_folder, read_json, write_json
from pipelines.printable import shortened, shown
from pipelines.text.noise import count_words

PART = 100_000  # pairs read per part
EXAMPLES = 10  # dropped pairs stored for each rule
LONGEST = 300  # characters of a text that are stored


def write_part(verdicts, cleaned, index, columns=(), progress=None):
    """Writes the kept pairs of a part in the folder `cleaned`, and facts about all of its pairs.

    Args:
        verdicts: the `Judged`s of the next `PART` pairs.
        columns: the names of the columns.
        progress: a `Progress` that counts the pairs read, or None.
    """
    counts, words, characters = Counter(read=0, kept=0), Counter(), Counter()
    examples, first = DroppedExamples(), {}
    with atomic_folder(cleaned / f"part-{index:06}") as unfinished, contextlib.ExitStack() as stack:
        names = "source", "target", *map(column_file, columns)
        source, target, *others = (stack.enter_context(open(unfinished / n, "wb")) for n in names)
        files = {"source": source, "target": target}
        for number, each in enumerate(verdicts, index * PART + 1):
            counts["read"] += 1
            if progress:
                progress.to(number)
            if each.rule:
                counts[each.rule] += 1
                examples.add(each.rule, each.texts)
                if each.rule not in first:
                    first[each.rule] = [number, shown_pair(each.pair)]
                continue
            counts.update(["kept", *each.changes])
            for (side, file), text in zip(files.items(), each.texts, strict=True):
                file.write(text.encode() + b"\n")
                words[side] += count_words(text)
                characters[side] += len(text)
            for file, line in zip(others, each.pair[3] if others else (), strict=True):
                file.write(line + b"\n")
        facts = {"pairs": counts, "words": words, "characters": characters}
        write_json(unfinished / "counts.json", facts | {"examples": examples, "first": first})


def column_file(name):
    return f"column-{name}"


def facts_of(cleaned):
    """Returns the facts about all parts.

    Returns:
        The summed counts; {rule name: list of [source, target]}, examples of dropped pairs; and
        {rule name: (number, text) of the first dropped pair}.
    """
    total = {"pairs": Counter(), "words": Counter(), "characters": Counter()}
    examples, first = DroppedExamples(), {}
    for part in parts_in(cleaned):
        facts = read_json(part / "counts.json")
        for name, sums in total.items():
            sums.update(facts[name])
        examples.update_with(facts["examples"])
        first = facts["first"] | first
    words, characters = dict(total["words"]), dict(total["characters"])
    counts = {"read": 0, "kept": 0, **total["pairs"], "words": words, "characters": characters}
    return counts, examples.pairs(), first


class DroppedExamples(dict):
    """Random examples of dropped pairs: {rule name: sorted list of [hash, source, target]}.

    They are sorted by a hash of the text, and the first ones are kept. So the examples are the
    same in every run and for every division of the corpus, and examples of parts can be merged.
    """

    def add(self, rule, texts):
        """Adds a dropped pair of texts, if it is among the first."""
        text = "\n".join(texts).encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(text, digest_size=8, key=b"examples").hexdigest()
        self.update_with({rule: [[key, *(shortened(text, LONGEST) for text in texts)]]})

    def update_with(self, others):
        """Adds the examples of another part of the corpus."""
        for rule, examples in others.items():
            own = self.get(rule, [])
            self[rule] = sorted(own + [each for each in examples if each not in own])[:EXAMPLES]

    def pairs(self):
        """Returns {rule name: list of [source, target]}."""
        return {rule: [pair for _, *pair in self[rule]] for rule in sorted(self)}


def shown_pair(pair):
    """Returns both sides as text for messages. A side that is not UTF-8 is shown as bytes."""
    texts = (side.decode("utf-8", "replace") for side in pair[:2])
    sides = zip(pair, texts, strict=False)
    return " and ".join(
        repr(side[:60]) if "\ufffd" in text else shown(side) for side, text in sides
    )


def parts_in(cleaned):
    """Returns the folders of all finished parts, in order."""
    return sorted(path for path in cleaned.glob("part-*") if path.suffix != ".unfinished")


def sampled_lines(cleaned, pairs, config):
    """Yields the lines of a random sample of all `pairs` kept: all sources, then all targets.

    The `VocabularyConfig` has the sample's size and seed.
    """
    chosen = np.ones(pairs, bool)
    if pairs > config.sample_pairs:
        random = np.random.default_rng(config.seed)
        chosen[:] = False
        chosen[random.choice(pairs, config.sample_pairs, replace=False)] = True
    for side in ("source", "target"):
        yield from itertools.compress(lines_of_side(cleaned, side), chosen)


def lines_of_side(cleaned, side):
    """Yields the lines of one side of all parts."""
    for part in parts_in(cleaned):
        yield from lines_of(part / side)


def lines_of(path):
    """Yields the lines of a text file without line feeds. Only "\\n" ends a line."""
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")
