import numpy as np
import pytest
from support.importing.tf_checkpoint import save_tensors

from t2t_keras.importing.files.tf_checkpoint import checkpoint_prefix, read_checkpoint


@pytest.mark.parametrize("name", ["a[1]", "b\\c", "\udcff"])
def test_a_checkpoint_is_read_from_a_path_of_any_characters(tmp_path, name):
    arrays = {"first": np.arange(3.0), "second": np.ones([2, 2])}
    save_tensors(tmp_path / "plain" / "model.ckpt-7", arrays)
    (tmp_path / "plain").rename(tmp_path / name)
    tensors = read_checkpoint(checkpoint_prefix(tmp_path / name, "*.index"), version=1)
    for key, array in arrays.items():
        np.testing.assert_array_equal(tensors[key].read(), array)
