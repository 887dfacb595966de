"""Warnings about text or settings that are probably not what the user intended."""

import itertools

import numpy as np

from pipelines.batches.id_store import SIDES
from pipelines.special_ids import UNKNOWN
from pipelines.text.cleaned_text import lines_of_side
from pipelines.text.cleaning import fingerprint, judge
from pipelines.text.cleaning_config import CleaningConfig
from pipelines.text.cleaning_rules import BUILT_IN, RULES
from pipelines.text.sources import shown

COMPARED = 10_000  # maximum number of pairs whose sides are compared
ALIKE = 0.75  # minimum share of common words for two sides to be alike
RARE = 5  # a piece that occurs fewer times is rare

ADVICE = {
    "invalid_utf8": "Convert the text first, for example with `iconv -f latin1 -t utf-8`",
    "max_ratio": "Check that line n of the target translates line n of the source",
    "other_language": "Check that the source is in the first of the languages",
    "identical": "Check that the source and the target are different texts",
}


def text_warnings(source, counts, cleaning, cleaned):
    """Returns warnings about the text of a preparation. The cleaned text must still exist.

    Args:
        source: the source of pairs, see `sources.py`.
        counts: the counts of the cleaning.
        cleaning: a `Cleaning`.
        cleaned: folder of the cleaned text.
    """
    return [*drop_warnings(source, counts, cleaning), *alike_warnings(cleaned)]


def drop_warnings(source, counts, cleaning):
    """Yields a warning for each rule that dropped too many pairs, with the first dropped pair."""
    often = {name for name in RULES if counts.get(name, 0) > allowed_share(name) * counts["read"]}
    examples = first_dropped(source, often, cleaning) if often else {}
    for name, rule in RULES.items():
        if name in examples:
            number, pair = examples[name]
            count, read = counts[name], counts["read"]
            yield (
                f"{count:,} of {read:,} pairs ({count / read:.1%}) were dropped: {rule.reason}. "
                f"The first is pair {number:,}: {shown_pair(pair)}. {advice(name)}"
            )


def allowed_share(name):
    """Returns the share of pairs that a rule may drop without a warning.

    The rule for duplicates may drop many, because it keeps one pair of each set; so may rules that
    are off by default. --scores drops as many as the user wants.
    """
    shares = {"duplicates": 0.3, "low_score": 1.0}
    return shares.get(name, 0.01 if getattr(CleaningConfig(), name, False) else 0.1)


def first_dropped(source, names, cleaning):
    """Returns {rule name: (number of the pair, pair)} for the first pair that each rule drops."""
    rules, seen, found = cleaning.rules(), set(), {}
    for number, pair in enumerate(source, start=1):
        judged = judge(pair, rules, cleaning.normalization, number)
        rule = judged.rule
        if not rule and "duplicates" in names:
            key = fingerprint(judged.texts)
            rule = "duplicates" if key in seen else None
            seen.add(key)
        if rule in names and rule not in found:
            found[rule] = number, pair[:2]
        if len(found) == len(names):
            break
    return found


def shown_pair(pair):
    """Returns both sides as text for messages. A side that is not UTF-8 is shown as bytes."""
    texts = [side.decode("utf-8", "replace") for side in pair]
    shown_sides = (
        repr(side[:60]) if "\ufffd" in text else shown(side)
        for side, text in zip(pair, texts, strict=True)
    )
    return " and ".join(shown_sides)


def advice(name):
    """Returns advice about the pairs that a rule drops."""
    if name == "invalid_utf8":
        return ADVICE[name]
    if name == "low_score":
        return "Lower --min_score, or raise --best"
    if name not in BUILT_IN:
        return f"Check the text. Without the rule {name!r}, they are kept"
    off = 0 if name.startswith(("max_", "min_")) else False
    return f"{ADVICE.get(name, 'Check the text')}. --config.data.cleaning.{name}={off} keeps them"


def alike_warnings(cleaned):
    """Yields a warning if most pairs have nearly the same words on both sides."""
    pairs = zip(*(lines_of_side(cleaned, side) for side in SIDES), strict=True)
    alike = [are_alike(*pair) for pair in itertools.islice(pairs, COMPARED)]
    if 2 * sum(alike) > len(alike):
        yield (
            f"{sum(alike):,} of {len(alike):,} pairs have nearly the same words on both sides. "
            f"{ADVICE['identical']}"
        )


def are_alike(*texts):
    """Returns whether two texts have most of their words in common."""
    words = [set(text.casefold().split()) for text in texts]
    return len(words[0] & words[1]) >= ALIKE * max(map(len, words))


def vocabulary_warnings(store, tokenizer):
    """Yields a warning if most pieces of a vocabulary are rare in the text it was learned from.

    Args:
        store: an `IdStore` of that text.
        tokenizer: the learned tokenizer, which both languages share.
    """
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
