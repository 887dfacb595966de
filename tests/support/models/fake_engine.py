"""An engine in NumPy that writes the words of its source in capitals, over a vocabulary of letters.

It needs no TensorFlow, and what it finds for a row depends on nothing but that row.
"""

import itertools

import numpy as np

from pipelines.special_ids import UNKNOWN
from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers import SeparateTokenizers
from pipelines.tokenizers.tokenizer_base import CODE, Tokenizer
from t2t_keras.decoding.rows import END, PADDING, Hypotheses
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.engines.engine import Engine
from t2t_keras.translating.translator import Translator

SPACE = ord(" ")


class LetterTokenizer(Tokenizer):
    """A tokenizer with a token for each character. A space begins each word, also the first.

    Attributes:
        encoded: a list of the texts of each call of `encode`.
    """

    size = 0x4000
    normalization = Normalization()
    begins_word = np.arange(size) == SPACE
    codes = {">>de<<": 5, ">>fr<<": 6}
    tags = {"<2de>": 7, "<2fr>": 8}

    def __init__(self):
        self.encoded = []

    def encode(self, texts):
        self.encoded.append(list(texts))
        return [np.array([*self.start, *self.ids(self.normalization(t))], "int32") for t in texts]

    def ids(self, text):
        code, rest = self.split_code(text)
        ids = [ord(each) if ord(each) < self.size else UNKNOWN for each in f" {rest}" if rest]
        return [self.codes[code], *ids] if code else ids

    def code_before(self, text):
        match = CODE.match(text)
        return match[0] if match else ""

    def decode(self, sequences):
        return ["".join(chr(id) for id in ids if id > 8).strip(" ") for ids in sequences]

    def pieces(self, ids):
        return [SPACE_SIGN if id == SPACE else chr(id) for id in map(int, ids)]


class FakeEngine(Engine):
    """An engine whose hypotheses are the words of the source in capitals: as they are, in reverse
    order, the first one alone, the last one alone, and no word.

    They begin with the prefix and end with the phrases. After the tag <2fr>, reverse order is best.
    In sampling, the text's index and the seed choose the first hypothesis. A source that contains
    "∅" has none.

    Args:
        longest, tags, batch_tokens: see `Engine`.
        **search: fields of its `SearchConfig`.

    Attributes:
        calls: (method, `SearchConfig`, arguments) of each call, also of engines that
            `with_search` returned.
    """

    name = "fake"

    def __init__(self, longest=None, tags=(None,), batch_tokens=4096, **search):
        self.tokenizer = SeparateTokenizers(LetterTokenizer(), LetterTokenizer())
        self.config = SearchConfig(**search)
        self.longest, self.tags = longest, tags
        self.batch_tokens, self.calls = batch_tokens, []

    def search(self, rows):
        self.calls.append(("search", self.config, rows))
        found = [self.found(row, rows) for row in range(len(rows.source))]
        count = max(map(len, found), default=1)
        width = max((len(ids) for each in found for ids, _ in each), default=1)
        tokens = np.full((len(found), count, width), PADDING, "int32")
        scores = np.full((len(found), count), -np.inf, "float32")
        for row, of_row in enumerate(found):
            for rank, (ids, score) in enumerate(of_row):
                tokens[row, rank, : len(ids)], scores[row, rank] = ids, score
        return Hypotheses(tokens, scores)

    def found(self, row, rows):
        """Returns (ids, score) of each hypothesis of a row, best first."""
        config = self.config
        source = tokens_of(rows.source[row])
        assert source[-1] == END, "every source has an end"
        before = [] if rows.prefix is None else tokens_of(rows.prefix[row])
        phrases = [] if rows.phrases is None else map(tokens_of, rows.phrases[row])
        after = [id for phrase in phrases for id in phrase]
        limit = min(len(source) + config.extra_length + len(after), self.longest or 10**9)
        found = []
        for rank, middle in enumerate(self.hypotheses(source, rows.index[row])[: config.beam]):
            middle = [id for id in middle if id not in config.banned]
            room = max(limit - len(before) - len(after), 0)
            ids = [*before, *middle[:room], *after, END][:limit]
            found.append((ids, -(rank + 1) / config.length_penalty(float(len(ids)))))
        return sorted(found, key=lambda each: -each[1])[: config.n_best]

    def hypotheses(self, source, index):
        text = "".join(chr(id) for id in source if id > 8)
        if "∅" in text:
            return []
        words = [[SPACE, *map(ord, word.upper())] for word in text.split(" ") if word]
        orders = [words, words[::-1], words[:1], words[-1:], []]
        first = int(8 in source[:1])
        if self.config.method == "sample":
            first = (index + self.config.seed) % len(orders)
        return [list(itertools.chain(*order)) for order in orders[first:] + orders[:first]]

    def log_p(self, source, target):
        """Log P falls with the position and with the source's length. It is lower by 3 for each
        letter of a word that is not in the source."""
        self.calls.append(("log_p", self.config, (source, target)))
        lengths = (source != PADDING).sum(axis=1, keepdims=True)
        log_p = -0.001 * lengths * np.arange(1, target.shape[1] + 1)
        for row, (read, written) in enumerate(zip(source, target, strict=True)):
            known = "".join(map(chr, read)).upper().replace("\x02", " ").split(" ")
            words = np.cumsum(written == SPACE) * (written > SPACE)
            for number in range(1, words.max(initial=0) + 1):
                word = "".join(map(chr, written[words == number]))
                log_p[row, words == number] -= 3 * (word not in known)
        return log_p

    def attention(self, source, target):
        """Each token attends to the source's token at the same place."""
        self.calls.append(("attention", self.config, (source, target)))
        weights = np.zeros((*target.shape, source.shape[1]))
        places = np.arange(target.shape[1])
        for row, ids in enumerate(source):
            last = np.count_nonzero(ids) - 1
            weights[row, places, np.minimum(places + (ids[0] in range(5, 9)), last)] = 1
        return weights


def tokens_of(ids):
    return [int(id) for id in ids if id != PADDING]


def searches(translator):
    return [rows for method, _, rows in translator.engine.calls if method == "search"]


def fake_translator(**arguments):
    """Returns a `Translator` with a `FakeEngine`."""
    return Translator(FakeEngine(**arguments))
