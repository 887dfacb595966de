"""t2t-score: prints the log-probability and perplexity of existing translations.

t2t-score runs/ende --source=test.en --target=test.de
t2t-score runs/ende --pairs=test.tsv               source, tab, target; other columns are ignored
paste test.en test.de | t2t-score runs/ende
t2t-score runs/ende --pairs=test.tsv --json --pieces

Prints one line per pair, with three columns separated by tabs: log P of the target given the
source (natural logarithm); perplexity per piece, exp(−log P / pieces); and the number of pieces,
with the end. The totals follow on standard error. --json writes an object per pair; --pieces adds
log P of each piece. Several runs score as an ensemble. An export can also score.

--reverse adds a model for the other direction, by which bad pairs are found for t2t-prepare
--scores. The columns are then: score of the pair, from 0 to 1 (best), by dual conditional
cross-entropy (Junczys-Dowmunt 2018); cross-entropy of the target and of the source, per piece. With
--output, an interrupted command is resumed by running it again.
"""

import collections
import contextlib
import functools
import importlib.metadata
import itertools
import json
import math
import sys
from pathlib import Path

from absl import flags

from pipelines.text.opened_text import split_list
from t2t_keras.cli.flags.engine_flags import TO, opened_model
from t2t_keras.cli.flags.shared_flags import not_with, only_with
from t2t_keras.cli.text_files.line_blocks import opened_input, write_blocks
from t2t_keras.cli.text_files.output_files import check_outputs
from t2t_keras.runs.text_files import line_text
from t2t_keras.translating.languages import languages_of

SOURCE = flags.DEFINE_string("source", None, "Text file with the source sentences, one per line.")
TARGET = flags.DEFINE_string("target", None, "Text file with the translations of --source.")
PAIRS = flags.DEFINE_string(
    "pairs", None, "File of pairs: source, tab, target. Default, or -: standard input."
)
REVERSE = flags.DEFINE_string(
    "reverse",
    None,
    "Run or export for the other direction, to score pairs by both; several with commas are an "
    "ensemble.",
)
REVERSE_TO = flags.DEFINE_string("reverse_to", None, "Tag before each target, for --reverse.")
OUTPUT = flags.DEFINE_string("output", None, "File to write. Default: standard output.")
JSON = flags.DEFINE_bool("json", False, "Write a JSON object per pair.")
PIECES = flags.DEFINE_bool("pieces", False, "Include log P of each piece; needs --json.")
LINES = flags.DEFINE_integer(
    "lines", 5000, "Number of pairs that are sorted and batched by length together.", lower_bound=1
)

not_with(REVERSE, PIECES)
only_with([REVERSE], REVERSE_TO)
only_with([JSON], PIECES)


def main(arguments):
    check_arguments()
    with opened_pairs() as source:
        model, command = opened_model(arguments, TO)
        reverse = None
        if REVERSE.value:
            folders = split_list(REVERSE.value)
            check_directions(arguments, folders)
            reverse, command["reverse"] = opened_model(folders, REVERSE_TO)
        command |= {flag.name: flag.value for flag in (JSON, PIECES, LINES)}
        command["version"] = importlib.metadata.version("t2t-keras")
        total, seen = collections.Counter(), collections.Counter()
        score = functools.partial(scored_lines, model=model, reverse=reverse, total=total)
        blocks = blocks_of(source, score, seen)
        write_blocks(blocks, OUTPUT.value, command, source, "scoring", "pairs")
    show_total(total, seen["pairs"] - total["pairs"])


def check_arguments():
    if bool(SOURCE.value) != bool(TARGET.value) or (SOURCE.value and PAIRS.value):
        given = [f"--{flag.name}" for flag in (SOURCE, TARGET, PAIRS) if flag.value]
        raise ValueError(
            "Give the pairs in one way: --source and --target, --pairs, or standard input. "
            f"Received: {', '.join(given)}"
        )
    check_outputs(OUTPUT.value, {flag.name: flag.value for flag in (SOURCE, TARGET, PAIRS)})


def check_directions(arguments, reverse):
    """Rejects runs whose recorded languages are not each other's reverse."""
    ours, theirs = (languages_of(Path(folders[0])) for folders in (arguments, reverse))
    if ours and theirs and tuple(ours) != tuple(theirs)[::-1]:
        raise ValueError(
            f"--reverse takes a run in the other direction, {'-'.join(ours[::-1])}. Received: "
            f"{reverse[0]}, which translates {'-'.join(theirs)}"
        )


@contextlib.contextmanager
def opened_pairs():
    """Yields the pairs of texts as an `Input`."""
    if SOURCE.value:
        with opened_input(SOURCE.value) as sources, opened_input(TARGET.value) as targets:
            counts = sources.count, targets.count
            if None not in counts and counts[0] != counts[1]:
                raise ValueError(
                    "--source and --target must have the same number of lines. Received: "
                    f"{counts[0]:,} and {counts[1]:,}"
                )
            texts = (map(line_text, each.lines, itertools.count()) for each in (sources, targets))
            yield sources._replace(lines=zip(*texts, strict=True))
        return
    with opened_input(PAIRS.value) as source:
        yield source._replace(lines=split_at_tabs(source.lines))


def split_at_tabs(lines):
    """Yields source and target of each line. An empty line is an empty pair, as in t2t-prepare."""
    for line_number, line in enumerate(lines, start=1):
        columns = line_text(line, line_number - 1).split("\t")
        if columns == [""]:
            columns = ["", ""]
        if len(columns) < 2:
            raise ValueError(f"line {line_number}: a pair needs a tab between source and target")
        yield columns[0], columns[1]


def blocks_of(source, score, seen):
    """Yields blocks of pairs for `write_blocks`, and counts the pairs in `seen`."""
    for pairs in source.blocks(LINES.value):
        contents = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
        yield len(pairs), contents, functools.partial(score, pairs, seen["pairs"] + 1)
        seen["pairs"] += len(pairs)


def scored_lines(pairs, first_line, on_progress, model, reverse, total):
    """Returns the output bytes for a list of pairs, and adds their scores to `total`."""
    if reverse is None:
        scores = model.score(pairs, on_progress, first_line)
        lines = [line_of_score(*each, model.tokenizer) for each in zip(pairs, scores, strict=True)]
    else:
        scores = model.score(pairs, lambda done: on_progress(done // 2), first_line)
        swapped = [(target, source) for source, target in pairs]
        backward = reverse.score(
            swapped, lambda done: on_progress((len(pairs) + done) // 2), first_line
        )
        lines = [line_of_both(*each) for each in zip(pairs, scores, backward, strict=True)]
    total["pairs"] += len(scores)
    total["tokens"] += sum(len(score.tokens) for score in scores)
    total["log_p"] += sum(score.log_p for score in scores)
    return "".join(f"{line}\n" for line in lines).encode()


def line_of_score(pair, score, tokenizer):
    from pipelines.tokenizers import lone_pieces

    values = {"log_p": score.log_p, "perplexity": score.perplexity, "tokens": len(score.tokens)}
    if PIECES.value:
        named = zip(lone_pieces(tokenizer.target, score.tokens), score.token_log_p, strict=True)
        values["pieces"] = [{"piece": piece, "log_p": float(p)} for (piece, _), p in named]
    return line_of(pair, values, (".4f", ".4f", ""))


def line_of_both(pair, forward, backward):
    entropies = forward.cross_entropy, backward.cross_entropy
    score = math.exp(-dual_cross_entropy(*entropies))  # from 0 to 1, best
    names = "score", "cross_entropy", "reverse_cross_entropy"
    return line_of(pair, dict(zip(names, (score, *entropies), strict=True)), (".6g", ".4f", ".4f"))


def line_of(pair, values, forms):
    """Returns the line about a pair: an object with --json, otherwise columns in these formats."""
    if JSON.value:
        contents = dict(zip(("source", "target"), pair, strict=True)) | values
        return json.dumps(contents, ensure_ascii=False)
    return "\t".join(f"{value:{form}}" for value, form in zip(values.values(), forms, strict=True))


def dual_cross_entropy(forward, backward):
    """Returns |H_A(y|x) - H_B(x|y)| + ½ (H_A(y|x) + H_B(x|y)), which is 0 at best.

    A good pair is probable for the models of both directions, and equally so: a text that says more
    or less than its translation surprises one of them more (Junczys-Dowmunt 2018, W18-6478, §3.1).
    """
    return abs(forward - backward) + (forward + backward) / 2


def show_total(total, kept):
    """Prints the sums over scored pairs, and how many pairs an earlier process has scored."""
    from t2t_keras.translating.scoring import perplexity

    if kept:
        print(f"{kept:,} pairs were scored before", file=sys.stderr)
    if not kept and not total["pairs"]:
        print("no pairs", file=sys.stderr)
    if total["pairs"]:
        print(
            f"{total['pairs']:,} pairs, {total['tokens']:,} pieces, log P per piece "
            f"{total['log_p'] / total['tokens']:.4f}, perplexity "
            f"{perplexity(total['log_p'], total['tokens']):.4f}",
            file=sys.stderr,
        )
