from collections import Counter

import numpy as np
from support.text.toy_tokenizers import toy_tokenizer

from pipelines.batches.id_store import IdStore, Shard
from pipelines.preparation import graph_encoding
from pipelines.preparation.graph_encoding import encode_parts
from pipelines.text.cleaned_text import write_part
from pipelines.tokenizers.bpe_dropout import EncodingsConfig
from pipelines.toy.grammar import pairs


def test_shards_hold_the_ids_of_the_python_tokenizer(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_encoding, "BATCH", 4)
    tokenizer, texts = toy_tokenizer("bpe"), pairs(10)
    for index, part in enumerate((texts[:3], [], texts[3:])):
        counts = Counter(read=9, kept=len(part))
        write_part(part, tmp_path / "cleaned" / f"part-00000{index}", counts)
    write_part([("kept", "kept")], tmp_path / "cleaned" / "part-000003", Counter(kept=1))
    Shard.of([([7], [8])] * 2).write(tmp_path / "shard-000003")
    encode_parts(tmp_path, tokenizer, EncodingsConfig())
    store = IdStore.read(tmp_path)
    assert [len(shard) for shard in store.shards] == [3, 0, 7, 2], "finished shards are kept"
    for column, side in enumerate(("source", "target")):
        expected = tokenizer.encode([pair[column] for pair in texts])
        for index, ids in enumerate(expected):
            np.testing.assert_array_equal(store.gather(side, [index], len(ids)), [ids])
