"""Drill: published models give the answers that are known of them.

They are not part of this project. `T2T_MODELS` names a folder that contains, from the systems'
repositories:

ctranslate2_aren: tests/data/models/v2/aren-transliteration of OpenNMT/CTranslate2
opus_mt_zh_en_tokenizer: config.json, vocab.json, source.spm and target.spm of
    Helsinki-NLP/opus-mt-zh-en
tensor2tensor_test: tensor2tensor/test_data/transformer_test_ckpt of tensorflow/tensor2tensor, and
    test_data/vocab.translate_ende_wmt8k.8192.subwords
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from t2t_keras.importing.formats import read_model
from t2t_keras.runs.importing.import_run import Arrays, import_run

pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(
        "T2T_MODELS" not in os.environ, reason="T2T_MODELS does not name a folder of models"
    ),
]
MODELS = Path(os.environ.get("T2T_MODELS", "."))
# Names in Arabic letters, their greedy transliterations, and log P with the end.
TRANSLITERATIONS = {
    "آ ت ز م و ن": ("a t z m o n", -1.0617),
    "آ ت ش ي س و ن": ("a c h i s o n", -1.1136),
}


def test_the_transliteration_model_of_ctranslate2(tmp_path):
    run = import_run(MODELS / "ctranslate2_aren", tmp_path / "run").run
    assert run.experiment().model.layers == (6, 6)
    answers = [answer for answer, _ in TRANSLITERATIONS.values()]
    assert run.translate(list(TRANSLITERATIONS), beam=1, alpha=0.0) == answers
    scores = run.score(list(zip(TRANSLITERATIONS, answers, strict=True)))
    found = [score.token_log_p.sum() for score in scores]
    print("\nlog P:", *found)
    np.testing.assert_allclose(found, [log_p for _, log_p in TRANSLITERATIONS.values()], atol=2e-4)


def test_the_pieces_of_a_sentence_have_the_ids_of_opus_mt():
    folder = MODELS / "opus_mt_zh_en_tokenizer"
    ids = json.loads((folder / "vocab.json").read_text("utf-8"))
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    pieces = [*special, *(piece for piece in ids if piece not in special)]
    tokenizer = MappedSentencePiece((folder / "source.spm").read_bytes(), pieces, codes=True)
    (found,) = tokenizer.encode(["我叫沃尔夫冈，住在柏林。"])
    assert [ids[piece] for piece in tokenizer.pieces(found)] == [
        *(14208, 25605, 3244, 26051, 2, 9227, 18317, 9)
    ]


def test_every_variable_of_tensor2tensor_s_checkpoint_is_used():
    imported = read_model(MODELS / "tensor2tensor_test")
    arrays = Arrays(imported)  # refuses variables that are left, and weights without one
    assert imported.config.layers == (2, 2) and imported.config.vocab_size == 8192
    for name in arrays:
        assert np.isfinite(arrays[name]).all()
