"""Learns a sub-word vocabulary from text. PAPER: §5.1.

English–German: about 37,000 byte pairs for both languages together. English–French: 32,000 word
pieces. Both learners are deterministic: the same text yields the same vocabulary.
"""

import collections
import dataclasses
import itertools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pipelines.checks import check, setting, validate
from pipelines.progress import Progress
from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers.byte_pairs import BytePairTokenizer
from pipelines.tokenizers.tokenizer_base import wrong_size
from pipelines.tokenizers.word_pieces import WordPieceTokenizer, learn_word_pieces

KINDS = (BytePairTokenizer.kind, WordPieceTokenizer.kind)


@dataclasses.dataclass
class VocabularyConfig:
    """Settings for learning sub-words.

    Args:
        kind: "bpe" (SentencePiece's byte pairs) or "word_pieces".
        size: number of pieces, including ids 0 to 3.
        sample_pairs: maximum number of sentence pairs to learn from, drawn at random.
        seed: random seed for that draw.
        character_coverage: share of all characters in the text that get a piece of their own. The
            remaining, rarest ones are encoded as bytes or as unknown.
        byte_fallback: whether byte pairs include 256 pieces for bytes, which can encode every
            character, seen or not.
        symbols: words that remain one piece when they stand between spaces, such as the brackets
            of a parse.
        tags: pieces that no text contains, for the beginning of sources, such as "<2de>".
    """

    kind: str = setting("bpe", choices=KINDS)
    size: int = setting(37000, at_least=1)
    sample_pairs: int = setting(1_000_000, at_least=1)
    seed: int = setting(1, at_least=0)
    character_coverage: float = setting(0.9999, at_least=0.9, at_most=1)
    byte_fallback: bool = True
    symbols: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def validate(self, prefix=""):
        """Raises `ValueError` for the first wrong setting."""
        validate(self, prefix)
        check_words("symbols", self.symbols)
        check_words("tags", self.tags)
        if self.tags and self.kind != BytePairTokenizer.kind:
            raise ValueError(
                f"`tags` need a vocabulary of kind {BytePairTokenizer.kind!r}. Received: "
                f"kind={self.kind!r}, tags={self.tags!r}"
            )


def check_words(name, words):
    """Rejects words that are not distinct or not normalized."""
    check(len(set(words)) == len(words), name, words, "distinct words")
    for word in words:
        is_word = word and " " not in word and Normalization()(word) == word
        check(is_word, name, word, "normalized words without spaces")


def learn(texts, config, normalization=None, folder=None):
    """Learns a tokenizer from text.

    Args:
        texts: normalized strings of both languages.
        config: a `VocabularyConfig`.
        normalization: the `Normalization` that the tokenizer will apply to every text.
        folder: folder for temporary files. If None, the system's temporary folder is used.
    """
    config.validate()
    texts = filter(None, texts)
    if (first := next(texts, None)) is None:
        raise ValueError("There is no text to learn a vocabulary from")
    texts = itertools.chain([first], texts)
    if config.kind == BytePairTokenizer.kind:
        return learn_byte_pairs(texts, config, normalization, folder)
    return learn_word_pieces(texts, config, normalization)


def learn_byte_pairs(texts, config, normalization, parent=None):
    """Runs SentencePiece in a separate process and reads the progress from its log."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        longest = 10  # bytes; the smallest limit that SentencePiece accepts
        with (Path(folder) / "text").open("wb") as file:
            for line in texts:
                line = line.encode() + b"\n"
                longest = max(longest, len(line))
                file.write(line)
        options = {
            "input": "text",  # relative, because the model records this name
            "model_prefix": "model",
            "model_type": "bpe",
            "vocab_size": config.size,
            "pad_id": 0,
            "bos_id": 1,
            "eos_id": 2,
            "unk_id": 3,
            "normalization_rule_name": "identity",  # the text is already normalized
            "character_coverage": config.character_coverage,
            "byte_fallback": config.byte_fallback,
            "control_symbols": list(config.tags),
            "user_defined_symbols": [SPACE_SIGN + symbol for symbol in config.symbols],
            "max_sentence_length": longest,  # SentencePiece skips longer lines
        }
        run_sentencepiece(options, config.size, folder)
        model = (Path(folder) / "model.model").read_bytes()
    return BytePairTokenizer(model, normalization)


def run_sentencepiece(options, size, folder):
    code = (
        "import json, sys, sentencepiece\n"
        "sentencepiece.SentencePieceTrainer.train(**json.load(sys.stdin))"
    )
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": folder}
    text = {"encoding": "utf-8", "errors": "replace"}  # independent of the locale
    log = collections.deque(maxlen=20)
    with subprocess.Popen([sys.executable, "-c", code], **pipes, **text) as process:
        try:
            process.stdin.write(json.dumps(options))
            process.stdin.close()
            with Progress("learning byte pairs", size, "pieces") as progress:
                for line in process.stderr:
                    log.append(line)
                    if merges := re.search(r"Merged: .* merges=(\d+)", line):
                        progress.to(int(merges[1]))
                if process.wait():
                    raise failure("".join(log), size)
                progress.to(size)
        finally:
            process.kill()


def failure(log, size):
    """Translates SentencePiece's log into an error about our settings."""
    if limit := re.search(r"Vocabulary size too high .* a value <= (\d+)", log):
        return wrong_size(size, largest=int(limit[1]))
    if limit := re.search(r"smaller than required_chars\. \d+ vs (\d+)", log):
        return wrong_size(size, smallest=int(limit[1]))
    last_line = "".join(log.strip().splitlines()[-1:])
    return ValueError(f"SentencePiece failed to learn a vocabulary: {last_line}")
