"""The averaged weights and their record are one file, whenever a process ends."""

import os

import numpy as np
import pytest

from t2t_keras.runs import Run
from t2t_keras.runs.training.averaged_weights import AveragedWeights


@pytest.fixture
def averaged(tmp_path):
    weights = AveragedWeights(tmp_path)
    weights.write({"model/0000": np.ones(3, "float32")}, [1], "1")
    return weights


def test_facts_are_added_to_the_record_of_the_weights_they_belong_to(averaged):
    scored = averaged.digest()
    averaged.write({"model/0000": np.zeros(3, "float32")}, [1, 2], "2")
    with pytest.raises(ValueError, match=r"was replaced by a different process while it was scor"):
        averaged.add(scored, bleu=3)
    second = averaged.digest()
    averaged.add(second, bleu=3)
    assert averaged.digest() == second != scored, "the record is no part of the digest"
    record = {"steps": [1, 2], "newest_checkpoint": "2", "bleu": 3}
    assert averaged.record().items() >= record.items()
    np.testing.assert_array_equal(averaged.state()["model/0000"], np.zeros(3))


def test_damaged_weights_are_named_with_advice(averaged):
    averaged.path.write_bytes(averaged.path.read_bytes()[:-5])
    for call in (averaged.digest, averaged.record, averaged.state):
        with pytest.raises(ValueError, match=r"averaged.npz is damaged .* \(t2t-average"):
            call()


def test_a_run_loads_weights_again_that_have_changed(copied):
    copied.average(last=2)
    record = {"steps": [4, 6], "newest_checkpoint": copied.checkpoints.digest(6)}
    assert copied.averaged.record().items() >= record.items()
    engine, status = copied.engine(), copied.averaged_weights.stat()
    Run(copied.folder).average(last=1)
    os.utime(copied.averaged_weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert copied.engine() is not engine
