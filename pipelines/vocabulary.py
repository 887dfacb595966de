"""Learning a vocabulary of sub-words from text. PAPER: §5.1.

English–German: byte pairs, about 37,000 for both languages together. English–French: 32,000 word
pieces. Both learners are deterministic: the same text gives the same vocabulary.
"""

import collections
import dataclasses
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pipelines.checks import check_whole_number
from pipelines.normalization import SPACE_SIGN, Normalization
from pipelines.progress import Progress
from pipelines.tokenizers import (
    CONTINUES,
    SPECIAL_PIECES,
    BytePairTokenizer,
    WordPieceTokenizer,
)

KINDS = (BytePairTokenizer.kind, WordPieceTokenizer.kind)


@dataclasses.dataclass
class VocabularyConfig:
    """Which sub-words to learn.

    Args:
        kind: "bpe" (SentencePiece's byte pairs) or "word_pieces".
        size: how many pieces, ids 0 to 3 included.
        sample_pairs: at most so many sentence pairs are learned from, drawn at random.
        seed: of that draw.
        character_coverage: share of all characters in the text that get a piece of their own;
            the rarest others are written in bytes, or are unknown.
        byte_fallback: whether byte pairs have 256 pieces for bytes, with which every character
            can be written, also those that were never seen.
        symbols: words that are one piece wherever they stand between spaces, for example the
            brackets of a parse.
    """

    kind: str = "bpe"
    size: int = 37000
    sample_pairs: int = 1_000_000
    seed: int = 1
    character_coverage: float = 0.9999
    byte_fallback: bool = True
    symbols: tuple[str, ...] = ()

    def validate(self):
        if self.kind not in KINDS:
            raise ValueError(f"`kind` must be one of {KINDS}. Received: kind={self.kind!r}")
        check_whole_number("size", self.size)
        check_whole_number("sample_pairs", self.sample_pairs)
        check_whole_number("seed", self.seed, at_least=0)
        number = isinstance(self.character_coverage, int | float)
        if not number or not 0.9 <= self.character_coverage <= 1:
            raise ValueError(
                "`character_coverage` must be from 0.9 to 1. "
                f"Received: character_coverage={self.character_coverage!r}"
            )
        listed = isinstance(self.symbols, tuple | list)
        if not listed or len(set(self.symbols)) != len(self.symbols):
            raise ValueError(
                "`symbols` must be a tuple of different words, on a command line "
                f"\"('one','two')\". Received: symbols={self.symbols!r}"
            )
        for symbol in self.symbols:
            if Normalization()(symbol) != symbol or " " in symbol or not symbol:
                raise ValueError(f"`symbols` must be words without spaces. Received: {symbol!r}")


def learn(texts, config, normalization=None, folder=None):
    """Learns a tokenizer from text.

    Args:
        texts: strings that the normalization leaves as they are, both languages.
        config: a `VocabularyConfig`.
        normalization: what the tokenizer is to do to a text first.
        folder: where what is learned from may lie meanwhile. None: the system's place for that.
    """
    config.validate()
    if config.kind == BytePairTokenizer.kind:
        return learn_byte_pairs(texts, config, normalization, folder)
    return learn_word_pieces(texts, config, normalization)


def learn_byte_pairs(texts, config, normalization, place=None):
    """SentencePiece, in a process of its own whose log tells how far it is."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        longest = 10  # SentencePiece's least
        with (Path(folder) / "text").open("wb") as file:
            for line in texts:
                line = line.encode() + b"\n"
                longest = max(longest, len(line))
                file.write(line)
        options = {
            "input": "text",  # its name is kept in the model, which should not tell of this folder
            "model_prefix": "model",
            "model_type": "bpe",
            "vocab_size": config.size,
            "pad_id": 0,
            "bos_id": 1,
            "eos_id": 2,
            "unk_id": 3,
            "normalization_rule_name": "identity",  # the text is normalised already
            "character_coverage": config.character_coverage,
            "byte_fallback": config.byte_fallback,
            "user_defined_symbols": [SPACE_SIGN + symbol for symbol in config.symbols],
            "max_sentence_length": longest,  # longer ones would be passed over
        }
        run_sentencepiece(options, config.size, folder)
        model = (Path(folder) / "model.model").read_bytes()
    return BytePairTokenizer(model, normalization)


def run_sentencepiece(options, size, folder):
    code = (
        "import json, sys, sentencepiece\n"
        "sentencepiece.SentencePieceTrainer.train(**json.load(sys.stdin))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    try:
        process.stdin.write(json.dumps(options))
        process.stdin.close()
        log = collections.deque(maxlen=20)
        with Progress("learning byte pairs", size, "pieces") as progress:
            for line in process.stderr:
                log.append(line)
                if found := re.search(r"Merged: .* merges=(\d+)", line):
                    progress.to(int(found[1]))
            if process.wait():
                raise ValueError(what_went_wrong("".join(log), size))
            progress.to(size)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def what_went_wrong(log, size):
    """SentencePiece's complaint in the words of our settings."""
    if found := re.search(r"Vocabulary size too high .* a value <= (\d+)", log):
        return (
            f"The text is too small for a vocabulary of {size:,} pieces: it can have at most "
            f"{int(found[1]):,}. Received: size={size}"
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", log):
        return (
            f"A vocabulary of {size:,} pieces does not hold the text's characters: it needs at "
            f"least {int(found[1]):,}, or less `character_coverage`. Received: size={size}"
        )
    if "sentences_.empty()" in log:
        return "There is no text to learn a vocabulary from"
    return f"SentencePiece could not learn a vocabulary: {log.strip().splitlines()[-1:]}"


def learn_word_pieces(texts, config, normalization):
    """tensorflow-text's learner: words cut into the pieces that occur often enough.

    How often is often enough is found by bisection, so that at most `config.size` pieces come
    out of it, and at least 98 % of that many if any threshold gives so many.
    """
    counts = collections.Counter()
    for line in texts:
        counts.update(line.split())
    if not counts:
        raise ValueError("There is no text to learn a vocabulary from")
    reserved = SPECIAL_PIECES + list(config.symbols)
    words = learnable(counts, config, reserved)
    most = max(count for _, count in words)
    low, high = 0, most + 1  # a threshold of `high` gives few enough pieces, one of `low` does not
    best = pieces_for(words, high, reserved)
    if len(best) > config.size:
        raise ValueError(
            f"A vocabulary of {config.size:,} pieces does not hold the text's characters: it "
            f"needs at least {len(best):,}, or less `character_coverage`. "
            f"Received: size={config.size}"
        )
    tried, sizes = 0, {high: len(best)}
    with Progress("learning word pieces", unit="thresholds tried") as progress:
        while high - low > 1 and len(best) < 0.98 * config.size:
            threshold = max(low + 1, min(high - 1, guess(low, high, sizes, 0.99 * config.size)))
            found = pieces_for(words, threshold, reserved)
            sizes[threshold] = len(found)
            if len(found) <= config.size:
                high, best = threshold, found
            else:
                low = threshold
            tried += 1
            progress.to(tried)
    if high == 1 and len(best) < 0.98 * config.size:
        raise ValueError(
            f"The text is too small for a vocabulary of {config.size:,} pieces: it can have at "
            f"most {len(best):,}. Received: size={config.size}"
        )
    return WordPieceTokenizer(best, normalization)


def guess(low, high, sizes, wanted):
    """The threshold that should give `wanted` pieces, their number being about a power of it."""
    middle = math.sqrt(max(low, 1) * high)
    if low not in sizes or sizes[low] == sizes[high]:
        return round(middle)
    share = math.log(sizes[low] / wanted) / math.log(sizes[low] / sizes[high])
    line = max(low, 1) * (high / max(low, 1)) ** share
    return round(line)


def learnable(counts, config, reserved, longest=50, most_words=200_000):
    """(word, count), the most frequent first, without the words of rare characters."""
    characters = collections.Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    enough, allowed = config.character_coverage * characters.total(), set()
    for character, count in sorted(characters.items(), key=lambda item: (-item[1], item[0])):
        if enough <= 0:
            break
        allowed.add(character)
        enough -= count
    words = [
        (word, count)
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if len(word) <= longest and word not in reserved and allowed.issuperset(word)
    ][:most_words]
    # Every character that is to have a piece, also if it stands in long words only.
    missing = allowed - {character for word, _ in words for character in word}
    return words + [(character, 1) for character in sorted(missing)]


def pieces_for(words, threshold, reserved):
    """The vocabulary of the pieces that occur at least `threshold` times."""
    from tensorflow_text.tools.wordpiece_vocab import (  # loads TensorFlow
        wordpiece_tokenizer_learner_lib as learner,
    )

    parameters = learner.Params(
        upper_thresh=None,
        lower_thresh=None,
        num_iterations=4,
        max_input_tokens=-1,
        max_token_length=50,
        max_unique_chars=len(words),
        vocab_size=0,
        slack_ratio=0,
        include_joiner_token=True,
        joiner=CONTINUES,
        reserved_tokens=reserved,
    )
    return learner.learn_with_thresh(words, threshold, parameters)
