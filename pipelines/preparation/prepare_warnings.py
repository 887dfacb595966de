"""Warnings about text or settings that are probably not what the user intended."""

import itertools

import numpy as np

from pipelines.batches.id_store import SIDES
from pipelines.special_ids import UNKNOWN
from pipelines.text.cleaned_text import lines_of_side
from pipelines.text.cleaning_rules import RULES, CleaningConfig

COMPARED = 10_000  # maximum number of pairs whose sides are compared
ALIKE = 0.75  # minimum share of common words for two sides to be alike
RARE = 5  # a piece that occurs fewer times is rare
# Shares of the pairs that rules may drop without a warning. The rule for duplicates keeps one pair
# of each set; --scores drops as many as the user wants.
ALLOWED = {"duplicates": 0.3, "low_score": 1.0}
ALLOWED_BY_DEFAULT, ALLOWED_ON_REQUEST = 0.01, 0.1
ADVICE = {
    "invalid_utf8": "Convert the text first, for example with `iconv -f latin1 -t utf-8`",
    "max_ratio": "Check that line n of the target translates line n of the source",
    "other_language": "Check that the source is in the first of the languages",
    "identical": "Check that the source and the target are different texts",
}


def text_warnings(counts, first, cleaned):
    """Yields warnings about cleaned text, by its folder and by what `facts_of` returns about it."""
    read = counts["read"]
    for name, (number, pair) in ((name, first[name]) for name in RULES if name in first):
        count, is_default = counts[name], getattr(CleaningConfig, name, False)
        allowed = ALLOWED_BY_DEFAULT if is_default else ALLOWED_ON_REQUEST
        if count > ALLOWED.get(name, allowed) * read:
            yield (
                f"{count:,} of {read:,} pairs ({count / read:.1%}) were dropped: "
                f"{RULES[name].reason}. The first is pair {number:,}: {pair}. {advice(name)}"
            )
    pairs = zip(*(lines_of_side(cleaned, side) for side in SIDES), strict=True)
    alike = [are_alike(*pair) for pair in itertools.islice(pairs, COMPARED)]
    if 2 * sum(alike) > len(alike):
        yield (
            f"{sum(alike):,} of {len(alike):,} pairs have nearly the same words on both sides. "
            f"{ADVICE['identical']}"
        )


def advice(name):
    """Returns advice about the pairs that a rule drops."""
    if name == "invalid_utf8":
        return ADVICE[name]
    if name == "low_score":
        return "Lower --min_score, or raise --best"
    if name not in RULES.built_in:
        return f"Check the text. Without the rule {name!r}, they are kept"
    off = 0 if name.startswith(("max_", "min_")) else False
    return f"{ADVICE.get(name, 'Check the text')}. --config.data.cleaning.{name}={off} keeps them"


def are_alike(*texts):
    """Returns whether two texts have most of their words in common."""
    words = [set(text.casefold().split()) for text in texts]
    return len(words[0] & words[1]) >= ALIKE * max(map(len, words))


def vocabulary_warnings(store, tokenizer):
    """Yields a warning if most pieces of a tokenizer are rare in the text it was learned from."""
    counts = np.zeros(tokenizer.size, "int64")
    for shard in store.shards:
        for side in SIDES:
            counts += np.bincount(shard.of_side(side), minlength=tokenizer.size)
    special = [*range(UNKNOWN + 1), *tokenizer.byte_ids, *tokenizer.tags.values()]
    frequent = int((np.delete(counts, special) >= RARE).sum())
    pieces = tokenizer.size - len(special)
    if 2 * frequent < pieces:
        size = len(special) + frequent
        yield (
            f"The vocabulary is large for this text: of its {pieces:,} pieces, "
            f"{pieces - frequent:,} occur fewer than {RARE} times, too rarely to be learned. "
            f"Consider a smaller one, such as --config.data.vocabulary.size={size}, in a new folder"
        )
