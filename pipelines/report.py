"""What a preparation came to: pairs kept and dropped, pieces, lengths, how full batches will be."""

import dataclasses

import numpy as np

from pipelines.batch_plan import BatchPlan
from pipelines.cleaning import CHANGED, DROPPED
from pipelines.id_store import SIDES
from pipelines.tokenizers import UNKNOWN


def make_report(store, tokenizer, counts, batches):
    """The figures, as a dictionary that can be written as JSON.

    Args:
        store: an `IdStore`.
        tokenizer: what it was encoded with.
        counts: what the cleaning counted, with "words" and "characters" of each side.
        batches: a `BatchConfig`.
    """
    sides = {}
    for column, side in enumerate(SIDES):
        pieces = int(store.lengths[:, column].sum(dtype="int64"))
        unknown = in_bytes = 0
        for shard in store.shards:
            ids = shard.of_side(side)
            unknown += int((ids == UNKNOWN).sum())
            in_bytes += int(np.isin(ids, tokenizer.byte_ids).sum())
        words = counts["words"].get(side, 0)
        sides[side] = {
            "words": words,
            "pieces": pieces,
            "pieces_a_word": pieces / max(words, 1),
            "characters_a_piece": counts["characters"].get(side, 0) / max(pieces, 1),
            "unknown": unknown / max(pieces, 1),
            "in_bytes": in_bytes / max(pieces, 1),
            "longest": int(store.lengths[:, column].max()),
        }
    histogram = np.bincount(np.minimum(store.lengths.max(axis=1) // 10, 20), minlength=21)
    return {
        "counts": counts,
        "vocabulary": {"kind": tokenizer.kind, "size": tokenizer.size},
        "sides": sides,
        "histogram": histogram.tolist(),
        "batches": batches_report(store, batches),
    }


def batches_report(store, config):
    """How full an epoch's batches are, measured on the first one."""
    report = {"settings": dataclasses.asdict(config)}
    try:
        plan = BatchPlan(store.lengths + 1, config, seed=0)
    except ValueError as error:  # a corpus too small for one batch is prepared all the same
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


def report_text(report):
    """The report as a person reads it."""
    counts, vocabulary = report["counts"], report["vocabulary"]
    lines = [
        f"pairs       {counts['read']:,} read, {counts['kept']:,} kept",
        f"dropped     {dropped_text(counts)}",
        f"changed     {listed(counts, CHANGED)}",
        f"vocabulary  {vocabulary['size']:,} pieces ({vocabulary['kind']})",
    ]
    for side, figures in report["sides"].items():
        lines.append(
            f"{side}      {figures['words']:,} words, {figures['pieces']:,} pieces: "
            f"{figures['pieces_a_word']:.2f} a word, {figures['unknown']:.3%} unknown, "
            f"{figures['in_bytes']:.3%} written in bytes; the longest sentence has "
            f"{figures['longest']:,}"
        )
    lines += ["", "pieces on the longer side", *histogram_lines(report["histogram"]), ""]
    return "\n".join([*lines, *batch_lines(report["batches"])]) + "\n"


def dropped_text(counts):
    """How many pairs each rule dropped, in words."""
    return listed(counts, DROPPED)


def listed(counts, names):
    found = [f"{counts[name]:,} {words}" for name, words in names.items() if counts.get(name)]
    return ", ".join(found) or "nothing"


def histogram_lines(histogram):
    most = max(histogram)
    for tens, count in enumerate(histogram):
        label = f"{10 * tens}–{10 * tens + 9}" if tens < 20 else "200 and more"
        yield f"{label:>14} {count:>12,} {'█' * round(40 * count / most)}".rstrip()


def batch_lines(batches):
    settings = batches["settings"]
    budget = f"batches     up to {settings['tokens']:,} tokens a side"
    if "problem" in batches:
        return [f"{budget}: {batches['problem']}"]
    shapes = ", ".join(
        f"{rows} × {width}" for rows, width in zip(batches["rows"], batches["widths"], strict=True)
    )
    too_long = "cut" if settings["too_long"] == "truncate" else "left out"
    return [
        f"{budget}: {batches['steps']:,} an epoch, in {len(batches['rows'])} shapes",
        f"            {batches['real']:.1%} of their positions hold real tokens",
        f"            {batches['too_long']:,} pairs of more than {settings['max_length']} tokens "
        f"{too_long}, {batches['left_over']:,} left over each epoch",
        f"            rows × width: {shapes}",
    ]
