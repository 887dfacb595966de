import os

import numpy as np
import pytest
from support.importing.tf_checkpoint import save_tensors

from t2t_keras.importing.files.tf_checkpoint import checkpoint_prefix, read_checkpoint

ARRAYS = {"first": np.arange(3.0), "second": np.ones([2, 2])}


@pytest.mark.parametrize("name", ["a[1]", "b\\c", "\udcff"])
def test_a_checkpoint_is_read_from_a_path_of_any_characters(tmp_path, name):
    save_tensors(tmp_path / "plain" / "model.ckpt-7", ARRAYS)
    (tmp_path / "plain").rename(tmp_path / name)
    tensors = read_checkpoint(checkpoint_prefix(tmp_path / name, "*.index"))
    for key, array in ARRAYS.items():
        np.testing.assert_array_equal(tensors[key].read(), array)


def test_the_file_checkpoint_names_one_of_several(tmp_path):
    for step in (7, 8):
        (tmp_path / f"model.ckpt-{step}.index").touch()
    with pytest.raises(ValueError, match=r"It has: model\.ckpt-7\.index, model\.ckpt-8\.index"):
        checkpoint_prefix(tmp_path, "*.index")
    for place in ("", "/tmp/train/"):
        (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{place}model.ckpt-8"\n')
        assert checkpoint_prefix(tmp_path, "*.index") == tmp_path / "model.ckpt-8"


@pytest.mark.parametrize(
    ("suffix", "length"),
    [(".index", 20), (".data-00000-of-00001", 20), (".data-00000-of-00001", 2000)],
)
def test_a_truncated_checkpoint_is_refused(tmp_path, suffix, length):
    save_tensors(tmp_path / "ckpt", {f"tensor{i}": np.ones(100, "float32") for i in range(10)})
    os.truncate(tmp_path / f"ckpt{suffix}", length)
    with pytest.raises(ValueError, match="is not a whole checkpoint of TensorFlow"):
        for tensor in read_checkpoint(tmp_path / "ckpt").values():
            tensor.read()
