"""A small corpus that is prepared in four parts."""

import sys

import pipelines.text.cleaned_text as cleaned_text
from pipelines.batches.batch_plan import BatchConfig
from pipelines.batches.dropout_encoding import with_dropout
from pipelines.batches.id_store import SIDES, Shard
from pipelines.data_config import DataConfig
from pipelines.preparation.prepare import prepare_by
from pipelines.text.sources import Pairs
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.vocabulary import VocabularyConfig
from pipelines.toy.grammar import pairs

CORPUS = [*pairs(700), ("", "leer"), ("same", "same"), pairs(1)[0]]
KEPT = list(dict.fromkeys(CORPUS[:700]))
PART = 200  # four parts


def config(encodings=1, **vocabulary):
    batches = BatchConfig(tokens=1000, max_length=60)
    vocabulary = VocabularyConfig(**{"size": 400, **vocabulary})
    encodings = EncodingsConfig(encodings, 0.2 if encodings > 1 else 0.0)
    return DataConfig(vocabulary=vocabulary, batches=batches, encodings=encodings)


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def encode_one_part_and_wait(folder, tokenizer, encodings):
    """Encodes the first part without TensorFlow, which takes long to load, and then hangs."""
    part = cleaned_text.parts_in(folder / "cleaned")[0]
    sides = [tokenizer.encode(cleaned_text.lines_of(part / side)) for side in SIDES]
    shard = with_dropout(Shard.of(zip(*sides, strict=True)), part, tokenizer, encodings)
    shard.write(cleaned_text.shard_of(part, folder))
    print("encoded", flush=True)
    sys.stdin.read()


def prepare_one_part_and_wait(folder, encodings):
    cleaned_text.PART = PART
    encode = encode_one_part_and_wait
    prepare_by(cleaned_text.clean_all, encode, Pairs(CORPUS), folder, config(encodings))
