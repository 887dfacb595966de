"""The notebook of `t2t_keras/layers` runs, and its checks accept right answers."""

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from support.processes.commands import ROOT

NOTEBOOK = ROOT / "t2t_keras" / "layers" / "one_hour.ipynb"

RIGHT = {
    "exercise-1": """
def unscaled_weights(q, k):
    return softmax(q @ k.T)
""",
    "exercise-2": """
def sees(layer, x):
    before, columns = np.array(layer(x)), []
    for position in range(x.shape[1]):
        changed = x.copy()
        changed[:, position] += 1
        difference = np.abs(np.array(layer(changed)) - before)[0]  # [length, d_model]
        columns.append(difference.max(axis=-1) > 1e-6)
    return np.stack(columns, axis=1)
""",
    "exercise-3": """
def without_residual(block, x):
    x = block.self_attention.norm(block.self_attention.sublayer(x))
    return block.feed_forward.norm(block.feed_forward.sublayer(x))
""",
    "exercise-4": """
def model_without_positions():
    return Transformer(dataclasses.replace(config, positions="none"))
""",
    "exercise-5": """
class WithoutWarmup(TransformerSchedule):
    def __call__(self, step):
        return (self.d_model * (keras.ops.cast(step, "float32") + 1)) ** -0.5
""",
}


@pytest.fixture
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def code_cells(notebook):
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.get("name") == "stdout")


def numbers(text):
    """Returns the decimal fractions in a text, such as 0.25 and 99.4."""
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def test_the_notebook_is_stored_without_outputs_and_checks_every_exercise(notebook):
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert not any(cell.outputs or cell.execution_count for cell in cells.values())
    assert [name for name in cells if name.startswith("exercise-")] == list(RIGHT)
    names = list(cells)
    for name in RIGHT:
        assert names[names.index(name) + 1] == name.replace("exercise", "check")


@pytest.mark.nightly
def test_the_notebook_runs_and_its_checks_accept_right_answers(notebook, tmp_path, monkeypatch):
    """In one kernel, because importing Keras and training take most of the time."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    folder = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, kernel_name="python3", resources=folder, timeout=300)
    cells = code_cells(notebook)

    def run(name, source=None):
        """Runs a cell, perhaps with a different source, and returns the text that it prints."""
        cells[name].source = source or cells[name].source
        client.execute_cell(cells[name], notebook.cells.index(cells[name]))
        return printed(cells[name])

    with client.setup_kernel():
        for name in cells:
            run(name)
        assert numbers(printed(cells["train"]))[0] > 97
        for number in range(1, len(RIGHT) + 1):
            assert printed(cells[f"check-{number}"]) == f"Exercise {number}: not answered yet\n"
        run("exercise-1", "def unscaled_weights(q, k): return attention(q, k, k)[1]")
        with pytest.raises(CellExecutionError, match="still divided by √64"):
            run("check-1")
        for exercise, right in RIGHT.items():
            check, title = exercise.replace("exercise", "check"), exercise.replace("-", " ")
            run(exercise, right)
            assert run(check).endswith(f"{title.capitalize()}: right\n")

    shifted, unshifted = printed(cells["unshifted"]).splitlines()
    assert "100.0% of the tokens are right, 0 of 100 new words" in unshifted
    assert int(re.search(r"(\d+) of 100", shifted)[1]) > 90
