"""t2t-score: log-probability and perplexity of given translations.

t2t-score runs/ende --source=test.en --target=test.de
t2t-score runs/ende --pairs=test.tsv               source, tab, target on each line
paste test.en test.de | t2t-score runs/ende
t2t-score runs/ende --pairs=test.tsv --json --pieces

Prints a line for each pair, with tabs: log P of the target given the source (a natural
logarithm), perplexity a piece, which is exp(−log P / pieces), and the number of its pieces, the
end included. At the end the same of all pairs, on standard error. --json writes an object a line;
with --pieces log P of each piece is in it. --weights takes another checkpoint than the averaged
ones.
"""

import contextlib
import itertools
import json
import sys
from pathlib import Path

import tensorflow as tf
from absl import flags

from pipelines.progress import Progress
from pipelines.tokenizers import lone_pieces
from t2t_keras.cli.main import run
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.decoding.scoring import Scorer, log_probabilities, perplexity
from t2t_keras.runs.lines import check_line_counts, read_lines, text_of
from t2t_keras.runs.run import finished
from t2t_keras.training.replica_step import choose_xla

SOURCE = flags.DEFINE_string("source", None, "The source, a line each.")
TARGET = flags.DEFINE_string("target", None, "Its translation, a line each.")
PAIRS = flags.DEFINE_string("pairs", None, "Both, with a tab. None or -: standard input.")
OUTPUT = flags.DEFINE_string("output", None, "Where to write. None: standard output.")
JSON = flags.DEFINE_bool("json", False, "Write JSON, an object for each pair.")
PIECES = flags.DEFINE_bool("pieces", False, "With --json: log P of each piece.")
LINES = flags.DEFINE_integer("lines", 5000, "Pairs read at a time, to sort them.", lower_bound=1)


def main(arguments):
    check_arguments(arguments)
    trained = finished(arguments)
    with contextlib.ExitStack() as files:
        pairs, terminal = given_pairs(files)
        tokenizer = trained.tokenizer()
        scorer = compiled_scorer(trained.model(WEIGHTS.value), tokenizer)
        output = sys.stdout.buffer
        if OUTPUT.value:
            output = files.enter_context(open(OUTPUT.value, "wb"))
        found = one_by_one(pairs, scorer) if terminal else many_at_a_time(pairs, scorer)
        show_total(written(output, found, tokenizer))


def check_arguments(arguments):
    if not arguments:
        raise ValueError("takes a run's folder, or several that score together. Received: none")
    if bool(SOURCE.value) != bool(TARGET.value) or (SOURCE.value and PAIRS.value):
        given = [f"--{flag.name}" for flag in (SOURCE, TARGET, PAIRS) if flag.value]
        raise ValueError(
            "Say where the pairs are, in one way: --source and --target, --pairs, or standard "
            f"input. Received: {', '.join(given)}"
        )
    if PIECES.value and not JSON.value:
        raise ValueError("--pieces goes with --json")
    for flag in (SOURCE, TARGET, PAIRS):
        if OUTPUT.value and flag.value and same_file(flag.value, OUTPUT.value):
            raise ValueError(
                f"--{flag.name} and --output are the same file, {flag.value}: it would be lost"
            )


def same_file(one, other):
    return Path(one).resolve() == Path(other).resolve()


def given_pairs(files):
    """The pairs one after another, and whether somebody types them."""
    if SOURCE.value:
        sources, targets = read_lines(SOURCE.value), read_lines(TARGET.value)
        check_line_counts(source=sources, target=targets)
        return zip(sources, targets, strict=True), False
    if PAIRS.value and PAIRS.value != "-":
        return split_at_tabs(files.enter_context(open(PAIRS.value, "rb"))), False
    return split_at_tabs(sys.stdin.buffer), sys.stdin.buffer.isatty()


def split_at_tabs(lines):
    """Source and target of each line, as t2t-prepare reads them: an empty line is an empty pair."""
    for number, line in enumerate(lines, start=1):
        columns = text_of(line).split("\t")
        if columns == [""]:
            columns = ["", ""]
        if len(columns) < 2:
            raise ValueError(f"line {number}: a pair needs a tab between source and target")
        yield columns[0], columns[1]


def compiled_scorer(model, tokenizer):
    """A `Scorer` in a TensorFlow graph, one for all shapes."""
    ids = tf.TensorSpec([None, None], tf.int32)
    xla = choose_xla("auto") or None

    @tf.function(input_signature=[ids, ids], autograph=False, jit_compile=xla)
    def compiled(source, target):
        return log_probabilities(model, source, target)

    def within_memory(source, target):
        try:
            return compiled(source, target)
        except tf.errors.ResourceExhaustedError as error:
            longest = max(source.shape[1], target.shape[1])
            raise ValueError(
                f"there is not enough memory for a pair of some {longest:,} pieces: leave it out"
            ) from error

    return Scorer(tokenizer, within_memory, longest=model.longest)


def one_by_one(pairs, scorer):
    """Each pair and its score, at once."""
    for number, pair in enumerate(pairs, start=1):
        yield pair, scorer.score([pair], first_line=number)[0]


def many_at_a_time(pairs, scorer):
    """The same, of many pairs at a time, so that those of one length go together."""
    with Progress("scoring", unit="pairs") as progress:
        progress.to(0)
        while some := list(itertools.islice(pairs, LINES.value)):
            before = progress.done
            scores = scorer.score(
                some, lambda done, before=before: progress.to(before + done), before + 1
            )
            yield from zip(some, scores, strict=True)
            progress.to(before + len(some))


def written(output, found, tokenizer):
    """Writes a line for each pair; how many there were, their pieces and log P."""
    count, tokens, log_p = 0, 0, 0.0
    for pair, score in found:
        output.write(f"{formatted(pair, score, tokenizer)}\n".encode())
        output.flush()
        count, tokens, log_p = count + 1, tokens + len(score.tokens), log_p + score.log_p
    return count, tokens, log_p


def formatted(pair, score, tokenizer):
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
        named = zip(lone_pieces(tokenizer, score.tokens), score.token_log_p, strict=True)
        contents["pieces"] = [{"piece": piece, "log_p": float(p)} for (piece, _), p in named]
    return json.dumps(contents, ensure_ascii=False)


def show_total(total):
    count, tokens, log_p = total
    if not count:
        print("no pairs", file=sys.stderr)
        return
    print(
        f"{count:,} pairs, {tokens:,} pieces, log P a piece {log_p / tokens:.4f}, "
        f"perplexity {perplexity(log_p, tokens):.4f}",
        file=sys.stderr,
    )


def entry():
    run(main)


if __name__ == "__main__":
    entry()
