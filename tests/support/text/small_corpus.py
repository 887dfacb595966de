"""A small corpus that is prepared in four parts."""

from pipelines.batches.batch_plan import BatchConfig
from pipelines.data_config import DataConfig
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
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
