"""The report of a preparation: pairs kept and dropped, pieces, lengths, padding of the batches.

It warns about text or settings that are probably not what the user intended.
"""

import dataclasses
import itertools

import numpy as np

from pipelines.atomic_files import write_json, write_text
from pipelines.batches.batch_plan import BatchPlan
from pipelines.batches.id_store import SIDES
from pipelines.printable import printable, shortened
from pipelines.special_ids import UNKNOWN
from pipelines.text.cleaned_text import lines_of_side
from pipelines.text.cleaning import CHANGES
from pipelines.text.cleaning_rules import RULES, CleaningConfig

EXAMPLES = 3  # of each rule in the text
WIDTH = 100  # characters of an example in the text
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


def make_report(store, tokenizer, counts, batches):
    """Returns the report as a dictionary that can be written as JSON.

    `counts` are from the cleaning, with "words" and "characters" for each side; `batches` is a
    `BatchConfig`.
    """
    sides = {}
    for column, side in enumerate(SIDES):
        pieces = int(store.lengths[0, :, column].sum(dtype="int64"))
        byte_ids = getattr(tokenizer, side).byte_ids
        unknown = in_bytes = 0
        for shard in store.shards:
            ids = shard.of_side(side)
            unknown += int((ids == UNKNOWN).sum())
            in_bytes += int(np.isin(ids, byte_ids).sum())
        words = counts["words"].get(side, 0)
        sides[side] = {
            "words": words,
            "pieces": pieces,
            "pieces_a_word": pieces / max(words, 1),
            "characters_a_piece": counts["characters"].get(side, 0) / max(pieces, 1),
            "unknown": unknown / max(pieces, 1),
            "in_bytes": in_bytes / max(pieces, 1),
            "longest": int(store.lengths[0, :, column].max()),
        }
    if store.encodings > 1:
        for column, figures in enumerate(sides.values()):
            dropped = store.lengths[1:, :, column].mean(axis=0, dtype=float).sum()
            figures["pieces_a_word_with_dropout"] = float(dropped) / max(figures["words"], 1)
    histogram = np.bincount(np.minimum(store.lengths[0].max(axis=1) // 10, 20), minlength=21)
    encodings = {"encodings": store.encodings} if store.encodings > 1 else {}
    columns = sorted({name for shard in store.shards for name in shard.columns})
    return {
        **encodings,
        **({"columns": columns} if columns else {}),
        "counts": counts,
        "vocabulary": {"kind": tokenizer.target.kind, "size": tokenizer.target.size},
        "sides": sides,
        "histogram": histogram.tolist(),
        "batches": batches_report(store, batches),
    }


def batches_report(store, config):
    """Returns the number, shapes and padding of the batches, measured on the first epoch."""
    report = {"settings": dataclasses.asdict(config)}
    try:
        plan = BatchPlan(store.lengths + 1, config, seed=0)
    except ValueError as error:  # too little text for one batch, which is no error here
        return {**report, "problem": str(error)}
    return {
        **report,
        "widths": plan.boundaries.tolist(),
        "rows": plan.rows.tolist(),
        "batches_of": plan.batches_of.tolist(),
        "steps": plan.steps,
        "real": plan.share_of_real_tokens(),
        "too_long": int(plan.too_long),
        "left_over": int(plan.left_over),
    }


def write_report(folder, report):
    """Writes the report. report.json is written last and marks the preparation as finished."""
    write_text(folder / "report.txt", report_text(report))
    write_json(folder / "report.json", report)


def report_text(report):
    """Returns the report as readable text."""
    counts, vocabulary, sides = report["counts"], report["vocabulary"], report["sides"]
    lines = [
        f"pairs       {counts['read']:,} read, {counts['kept']:,} kept",
        f"dropped     {dropped_text(counts)}",
        f"changed     {listed(counts, CHANGES)}",
        f"vocabulary  {vocabulary['size']:,} pieces ({vocabulary['kind']})",
    ]
    for side, figures in sides.items():
        lines.append(
            f"{side}      {figures['words']:,} words, {figures['pieces']:,} pieces: "
            f"{figures['pieces_a_word']:.2f} per word, {figures['unknown']:.3%} unknown, "
            f"{figures['in_bytes']:.3%} bytes; the longest sentence has "
            f"{figures['longest']:,} pieces"
        )
    if number := report.get("encodings"):
        dropout = ", ".join(
            f"{side} {figures['pieces_a_word_with_dropout']:.2f} pieces per word "
            f"(without: {figures['pieces_a_word']:.2f})"
            for side, figures in sides.items()
        )
        lines.append(f"encodings   {number} per sentence, {number - 1} with BPE dropout: {dropout}")
    if columns := report.get("columns"):
        lines.append(f"columns     {', '.join(columns)}")
    lines += ["", "pairs by number of pieces on the longer side"]
    for tens, count in enumerate(report["histogram"]):
        label = f"{10 * tens}–{10 * tens + 9}" if tens < 20 else "200 and more"
        bar = "█" * round(40 * count / max(report["histogram"]))
        lines.append(f"{label:>14} {count:>12,} {bar}".rstrip())
    lines += ["", *batch_lines(report["batches"])]
    if report.get("examples"):
        lines += ["", "examples of dropped pairs (more in report.json)"]
    for name, rule in RULES.items():
        examples = report.get("examples", {}).get(name, ())
        if examples:
            lines.append(f"  {rule.reason} ({name}, {counts[name]:,})")
        for source, target in examples[:EXAMPLES]:
            lines += [f"    {line_of(source)}", f"      → {line_of(target)}"]
    return "\n".join(lines) + "\n"


def line_of(text):
    """Returns a text for one line of the report, shortened if it is long."""
    return printable(shortened(text, WIDTH))


def dropped_text(counts):
    """Returns the number of pairs dropped by each rule, as text."""
    return listed(counts, {name: rule.reason for name, rule in RULES.items()})


def listed(counts, words):
    """Returns the nonzero counts as text, each followed by its description."""
    items = [f"{counts[name]:,} {words[name]}" for name in words if counts.get(name)]
    return ", ".join(items) or "nothing"


def batch_lines(batches):
    settings = batches["settings"]
    budget = f"batches     up to {settings['tokens']:,} tokens per side"
    if "problem" in batches:
        return [f"{budget}: {batches['problem']}"]
    shapes = ", ".join(
        f"{rows} × {width}" for rows, width in zip(batches["rows"], batches["widths"], strict=True)
    )
    too_long = "truncated" if settings["too_long"] == "truncate" else "left out"
    return [
        f"{budget}: {batches['steps']:,} per epoch, in {len(batches['rows'])} shapes",
        f"            {batches['real']:.1%} of their positions hold real tokens",
        f"            {batches['too_long']:,} pairs of more than {settings['max_length']} tokens "
        f"{too_long}, {batches['left_over']:,} left over in each epoch",
        f"            rows × width: {shapes}",
    ]


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
