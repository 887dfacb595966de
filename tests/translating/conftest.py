import numpy as np
import pytest


@pytest.fixture(scope="session")
def sharp_run(new_run, tmp_path_factory):
    """A run with random weights that is sure of most tokens and writes up to 20 of them."""
    from t2t_keras.runs import Run

    run = new_run(tmp_path_factory.mktemp("runs") / "sharp")
    model, random = run.loaded(None), np.random.default_rng(1)
    for weight in model.weights:
        if len(weight.shape) == 2:
            scale = 0.5 if weight.path.endswith("matrix") else 0.3
            weight.assign(random.normal(0, scale, weight.shape))
    matrix, bias = model.embedding.matrix.numpy(), np.zeros(400)
    matrix[2], matrix[:, 4], matrix[2, 4] = 0, 0, 60  # the end follows a sinusoid of the positions
    bias[:3] = -30, -30, -20
    model.embedding.matrix.assign(matrix)
    model.embedding.bias.assign(bias)
    model.save_weights(run.averaged_weights)
    return Run(run.folder)
