"""Random examples of the pairs that each cleaning rule drops, for the report.

A pair's place in the order is a hash of its text, and the first ones are kept. So the examples are
the same in every run and for every division of the corpus, and those of several parts can be
merged.
"""

import bisect
import hashlib

EXAMPLES = 10  # for each rule
LONGEST = 300  # characters of a text that are stored


class DroppedExamples:
    """Examples of dropped pairs.

    Args:
        found: {rule name: sorted list of [hash, source, target]}, as from `contents`.
    """

    def __init__(self, found=()):
        self.found = {
            rule: [tuple(each) for each in examples] for rule, examples in dict(found).items()
        }

    def add(self, rule, texts):
        """Adds a dropped pair of texts, if it is among the first."""
        text = "\n".join(texts).encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(text, digest_size=8, key=b"examples").hexdigest()
        self.insert(rule, (key, *(shortened(text) for text in texts)))

    def insert(self, rule, example):
        examples = self.found.setdefault(rule, [])
        if example not in examples:
            bisect.insort(examples, example)
            del examples[EXAMPLES:]

    def update(self, contents):
        """Adds the examples of another part of the corpus."""
        for rule, examples in contents.items():
            for example in examples:
                self.insert(rule, tuple(example))

    def contents(self):
        """Returns the examples as a dictionary that can be written as JSON."""
        rules = sorted(self.found.items())
        return {rule: [list(each) for each in examples] for rule, examples in rules}

    def pairs(self):
        """Returns {rule name: list of [source, target]}."""
        return {rule: [pair for _, *pair in examples] for rule, examples in self.contents().items()}


def shortened(text):
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
