"""SavedModels of special models, and failures while one is written."""

import numpy as np
import pytest
import tensorflow as tf
from support.models.helpers import tiny_model

from t2t_keras.export.saved_model import write


@pytest.mark.long
def test_kerass_own_export_of_the_model_gives_its_logits(tmp_path):
    model = tiny_model(num_layers=1)  # it was never called
    model.export(tmp_path / "logits", verbose=False)
    exported = tf.saved_model.load(tmp_path / "logits")
    inputs = {"source": np.array([[5, 6, 2]], "int32"), "target": np.array([[1, 7]], "int32")}
    np.testing.assert_allclose(exported.serve(inputs), model(inputs), atol=1e-5)


def test_a_full_disk_is_an_error_of_the_system(tmp_path, monkeypatch):
    def full_disk(*_, **__):
        raise tf.errors.OutOfRangeError(None, None, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full_disk)
    with pytest.raises(OSError, match=r"model could not be written: No space left on device"):
        write(tmp_path / "model", {})
