"""A small corpus that is prepared in four parts, without TensorFlow, whose graphs take long."""

import pipelines.text.cleaned_text as cleaned_text
from pipelines.batches.batch_plan import BatchConfig
from pipelines.batches.dropout_encoding import with_dropout
from pipelines.batches.id_store import SIDES, Shard
from pipelines.data_config import DataConfig
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.tokenizers.tags import untagged
from pipelines.tokenizers.vocabulary import VocabularyConfig
from pipelines.toy.grammar import pairs

CORPUS = [*pairs(360), ("", "leer"), ("same", "same"), pairs(1)[0]]
KEPT = list(dict.fromkeys(CORPUS[:360]))
PART = 100  # four parts


def config(encodings=1, **vocabulary):
    batches = BatchConfig(tokens=1000, max_length=60)
    vocabulary = VocabularyConfig(**{"size": 400, **vocabulary})
    encodings = EncodingsConfig(encodings, 0.2 if encodings > 1 else 0.0)
    return DataConfig(vocabulary=vocabulary, batches=batches, encodings=encodings)


def contents(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def encode_in_python(folder, tokenizer, encodings):
    """Does what `encode_parts` does."""
    for part in cleaned_text.parts_in(folder / "cleaned"):
        path = cleaned_text.shard_of(part, folder)
        if not path.exists():
            texts = (cleaned_text.lines_of(part / side) for side in SIDES)
            sides = map(untagged(tokenizer).encode, texts)
            shard = with_dropout(Shard.of(zip(*sides, strict=True)), part, tokenizer, encodings)
            shard.with_start(tokenizer.source.start).write(path)
