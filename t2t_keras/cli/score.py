"""t2t-score: prints the log-probability and perplexity of existing translations.

t2t-score runs/ende --source=test.en --target=test.de
t2t-score runs/ende --pairs=test.tsv               source, tab, target; other columns are ignored
paste test.en test.de | t2t-score runs/ende
t2t-score runs/ende --pairs=test.tsv --json --pieces

Prints one line per pair, with three columns separated by tabs: log P of the target given the
source (natural logarithm); perplexity per piece, exp(−log P / pieces); and the number of pieces,
with the end. The totals follow on standard error. --json writes an object per pair; --pieces adds
log P of each piece. Several runs score as an ensemble. An export scores, too.
"""

import contextlib
import itertools
import json
import sys

from absl import flags

from pipelines.progress import Progress
from pipelines.text.opened_text import opened, text_in
from t2t_keras.cli.flags.engine_flags import opened_model
from t2t_keras.cli.main import run
from t2t_keras.cli.process.streams import standard_input
from t2t_keras.cli.text_files.output_files import check_outputs, files_of, output_to
from t2t_keras.cli.text_files.parallel_lines import line_count

SOURCE = flags.DEFINE_string("source", None, "Text file with the source sentences, one per line.")
TARGET = flags.DEFINE_string("target", None, "Text file with the translations of --source.")
PAIRS = flags.DEFINE_string(
    "pairs", None, "File of pairs: source, tab, target. Default, or -: standard input."
)
OUTPUT = flags.DEFINE_string("output", None, "File to write. Default: standard output.")
JSON = flags.DEFINE_bool("json", False, "Write a JSON object per pair.")
PIECES = flags.DEFINE_bool("pieces", False, "Include log P of each piece; needs --json.")
LINES = flags.DEFINE_integer(
    "lines", 5000, "Number of pairs that are sorted and batched by length together.", lower_bound=1
)


def main(arguments):
    check_arguments(arguments)
    found = opened_model(arguments)
    from t2t_keras.translating.scoring import Scorer
    from t2t_keras.translating.translator import Translator

    tokenizer = Translator(found.engine, found.to).tokenizer
    with contextlib.ExitStack() as files:
        pairs, total, interactive = given_pairs(files)
        output = files.enter_context(output_to(OUTPUT.value))
        scorer = Scorer(found.engine, tokenizer)
        scored = one_at_a_time(pairs, scorer) if interactive else in_blocks(pairs, total, scorer)
        result = write(output, scored, tokenizer)
    show_total(result)


def check_arguments(arguments):
    if not arguments:
        raise ValueError(
            "takes a run's folder, several for an ensemble, or an export. Received: none"
        )
    if bool(SOURCE.value) != bool(TARGET.value) or (SOURCE.value and PAIRS.value):
        given = [f"--{flag.name}" for flag in (SOURCE, TARGET, PAIRS) if flag.value]
        raise ValueError(
            "Give the pairs in one way: --source and --target, --pairs, or standard input. "
            f"Received: {', '.join(given)}"
        )
    if PIECES.value and not JSON.value:
        raise ValueError("--pieces needs --json")
    check_outputs(
        {"standard output": 1} if OUTPUT.value is None else {"--output": OUTPUT.value},
        {
            **{f"--{flag.name}": flag.value for flag in (SOURCE, TARGET, PAIRS)},
            "standard input": None if SOURCE.value or PAIRS.value not in (None, "-") else 0,
            "a file of the run": files_of(arguments),
        },
    )


def given_pairs(files):
    """Returns an iterator of pairs, their number or None, and whether the user is typing them."""
    from t2t_keras.runs.text_files import check_line_counts, read_lines

    if SOURCE.value:
        sources, targets = read_lines(SOURCE.value), read_lines(TARGET.value)
        check_line_counts(source=sources, target=targets)
        return zip(sources, targets, strict=True), len(sources), False
    if PAIRS.value and PAIRS.value != "-":
        lines = files.enter_context(opened(PAIRS.value))
    elif standard_input().isatty() or not standard_input().seekable():
        return split_at_tabs(typed_or_piped()), None, standard_input().isatty()
    else:
        lines = text_in(standard_input())
    return split_at_tabs(lines), line_count(lines), False


def typed_or_piped():
    """Yields the lines of standard input. Does not wait for input before the first is requested."""
    yield from text_in(standard_input())


def split_at_tabs(lines):
    """Yields source and target of each line. An empty line is an empty pair, as in t2t-prepare."""
    from t2t_keras.runs.text_files import line_text

    for line_number, line in enumerate(lines, start=1):
        columns = line_text(line, line_number - 1).split("\t")
        if columns == [""]:
            columns = ["", ""]
        if len(columns) < 2:
            raise ValueError(f"line {line_number}: a pair needs a tab between source and target")
        yield columns[0], columns[1]


def one_at_a_time(pairs, scorer):
    """Yields each pair and its score immediately."""
    for line_number, pair in enumerate(pairs, start=1):
        yield pair, scorer.score([pair], first_line=line_number)[0]


def in_blocks(pairs, total, scorer):
    """Yields each pair and its score, in blocks whose pairs are batched by length."""
    with Progress("scoring", total, unit="pairs") as progress:
        progress.to(0)
        while block := list(itertools.islice(pairs, LINES.value)):
            before = progress.done
            scores = scorer.score(
                block, lambda done, before=before: progress.to(before + done), before + 1
            )
            progress.clear()
            yield from zip(block, scores, strict=True)
            progress.to(before + len(block))


def write(output, scored_pairs, tokenizer):
    """Writes a line for each pair. Returns the totals: number of pairs, number of pieces, log P."""
    count, tokens, log_p = 0, 0, 0.0
    for pair, score in scored_pairs:
        output.write(f"{formatted(pair, score, tokenizer)}\n".encode())
        if OUTPUT.value is None:
            output.flush()
        count, tokens, log_p = count + 1, tokens + len(score.tokens), log_p + score.log_p
    return count, tokens, log_p


def formatted(pair, score, tokenizer):
    from pipelines.tokenizers import lone_pieces

    if not JSON.value:
        return f"{score.log_p:.4f}\t{score.perplexity:.4f}\t{len(score.tokens)}"
    source, target = pair
    contents = {
        "source": source,
        "target": target,
        "log_p": score.log_p,
        "perplexity": score.perplexity,
        "tokens": len(score.tokens),
    }
    if PIECES.value:
        named = zip(lone_pieces(tokenizer.target, score.tokens), score.token_log_p, strict=True)
        contents["pieces"] = [{"piece": piece, "log_p": float(p)} for (piece, _), p in named]
    return json.dumps(contents, ensure_ascii=False)


def show_total(total):
    from t2t_keras.translating.scoring import perplexity

    count, tokens, log_p = total
    if not count:
        print("no pairs", file=sys.stderr)
        return
    print(
        f"{count:,} pairs, {tokens:,} pieces, log P per piece {log_p / tokens:.4f}, "
        f"perplexity {perplexity(log_p, tokens):.4f}",
        file=sys.stderr,
    )


def entry():
    run(main)


if __name__ == "__main__":
    entry()
