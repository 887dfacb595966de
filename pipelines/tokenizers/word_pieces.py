"""Word pieces: the paper's English–French sub-words (§5.1; Wu et al. 2016)."""

import collections
import math

from pipelines.progress import Progress
from pipelines.special_ids import CONTINUES, SPECIAL_PIECES
from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers.tokenizer_base import LongestFirst, wrong_size

CLOSE_ENOUGH = 0.98  # share of the requested size at which the search stops


class WordPieceTokenizer(LongestFirst):
    """A word-piece tokenizer: repeatedly splits off the longest piece that a word begins with.

    Words are split at spaces only, so decoding restores the text exactly. A character without a
    piece is unknown. The vocabulary begins with `SPECIAL_PIECES`.
    """

    kind, continues = "word_pieces", CONTINUES

    def __init__(self, vocabulary, normalization=None):
        super().__init__(vocabulary, normalization)
        if self.vocabulary[:4] != SPECIAL_PIECES:
            raise ValueError(
                f"The first word pieces must be {SPECIAL_PIECES}. Received: {self.vocabulary[:4]}"
            )
        self.ids = self.distinct_ids()
        self.longest = max(len(piece.removeprefix(CONTINUES)) for piece in self.vocabulary)

    def words_of(self, text):
        return text.split(" ")

    def surface(self, piece):
        return f" {piece}".replace(f" {CONTINUES}", "", 1)

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.surfaces[int(id)].replace(" ", SPACE_SIGN) for id in ids]

    def files(self):
        return {"word_pieces.txt": "".join(f"{piece}\n" for piece in self.vocabulary).encode()}

    @classmethod
    def from_files(cls, read, normalization):
        return cls(read("word_pieces.txt").decode().split("\n")[:-1], normalization)


def learn_word_pieces(texts, config, normalization):
    """Learns a vocabulary of the pieces that are at least as frequent as a threshold.

    A search over thresholds finds a vocabulary of at most `config.size` pieces. Its size is at
    least 98 % of that number if any threshold makes this possible.
    """
    counts = collections.Counter()
    for line in texts:
        counts.update(line.split())
    reserved = SPECIAL_PIECES + list(config.symbols)
    words = learnable(counts, config, reserved)
    most = max(count for _, count in words)
    low, high = 0, most + 1  # `low` yields too many pieces, `high` does not
    best = pieces_for(words, high, reserved)
    if len(best) > config.size:
        raise wrong_size(config.size, smallest=len(best))
    sizes = {high: len(best)}
    with Progress("learning word pieces", unit="thresholds") as progress:
        while high - low > 1 and len(best) < CLOSE_ENOUGH * config.size:
            threshold = guess(low, high, sizes, (1 + CLOSE_ENOUGH) / 2 * config.size)
            threshold = max(low + 1, min(high - 1, threshold))
            pieces = pieces_for(words, threshold, reserved)
            sizes[threshold] = len(pieces)
            if len(pieces) <= config.size:
                high, best = threshold, pieces
            else:
                low = threshold
            progress.to(len(sizes) - 1)
    if high == 1 and len(best) < CLOSE_ENOUGH * config.size:
        raise wrong_size(config.size, largest=len(best))
    return WordPieceTokenizer(best, normalization)


def guess(low, high, sizes, wanted):
    """Returns the threshold that should yield `wanted` pieces.

    The number of pieces is roughly a power of the threshold, so this interpolates between `low`
    and `high` on logarithmic scales.
    """
    middle = math.sqrt(max(low, 1) * high)
    if low not in sizes or sizes[low] == sizes[high]:
        return round(middle)
    share = math.log(sizes[low] / wanted) / math.log(sizes[low] / sizes[high])
    return round(max(low, 1) * (high / max(low, 1)) ** share)


def learnable(counts, config, reserved, longest=50, most_words=200_000):
    """Returns [(word, count)], most frequent first, without words that contain rare characters."""
    characters = collections.Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    uncovered, allowed = config.character_coverage * characters.total(), set()
    for character, count in sorted(characters.items(), key=lambda item: (-item[1], item[0])):
        if uncovered <= 0:
            break
        allowed.add(character)
        uncovered -= count
    words = [
        (word, count)
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if len(word) <= longest and word not in reserved and allowed.issuperset(word)
    ][:most_words]
    # Every allowed character gets a piece, even if it occurs only in words that are left out.
    missing = allowed - {character for word, _ in words for character in word}
    return words + [(character, 1) for character in sorted(missing)]


def pieces_for(words, threshold, reserved):
    """Returns the vocabulary of the pieces that occur at least `threshold` times."""
    from tensorflow_text.tools.wordpiece_vocab import (
        wordpiece_tokenizer_learner_lib,  # loads TensorFlow
    )

    parameters = wordpiece_tokenizer_learner_lib.Params(
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
    return wordpiece_tokenizer_learner_lib.learn_with_thresh(words, threshold, parameters)
