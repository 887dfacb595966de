"""Drill: the memory that t2t-import takes for a base-size model, beyond TensorFlow's own."""

from pathlib import Path

import pytest
from support.importing.random_marian import write_random_marian
from support.processes.commands import script

pytestmark = pytest.mark.drill
MEASURED = """
import sentencepiece

from t2t_keras.importing import hugging_face
from t2t_keras.runs.importing.import_run import import_run


def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


before = memory("VmRSS")
import_run("model", "run")
print((memory("VmHWM") - before) / 1024)
"""


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_base_size_model_takes_at_most_one_and_a_half_times_its_file(tmp_path, dtype):
    sizes = {"vocabulary": 60_000, "d_model": 512, "d_ff": 2048, "heads": 8, "layers": 6}
    folder = write_random_marian(tmp_path / "model", **sizes, dtype=dtype)
    size = (folder / "model.safetensors").stat().st_size / 2**20
    path = Path(tmp_path / "measured.py")
    path.write_text(MEASURED)
    result = script(path, tmp_path)
    assert result.returncode == 0, result.stderr
    peak = float(result.stdout)
    print(f"\n{dtype}: a file of {size:.0f} MiB, a peak of {peak:.0f} MiB, {peak / size:.2f} times")
    assert peak <= 1.5 * size
