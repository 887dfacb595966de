"""The paper's claims as experiments: `reproduce(Plan("claims"))`.

Each experiment produces a plot and tables. Each module in `CLAIMS` has a function
`finding(toy_runs)` that returns a `Finding`.
"""

import importlib

from pipelines.atomic_files import locked_folder, write_text
from t2t_keras.reproduction.child_process import call_in_child
from t2t_keras.reproduction.claims.finding import write_finding
from t2t_keras.reproduction.claims.toy_runs import ToyRuns
from t2t_keras.reproduction.texts import chosen_rows
from t2t_keras.stages.table_writer import circumstances, this_machine

CLAIMS = (
    *("scale", "additive", "heads", "structure", "sinusoids", "positions"),
    *("path_length", "parts", "size_by_data", "draft"),
)


def reproduce(plan):
    names = chosen_rows(CLAIMS, plan.rows)
    if search := [name for name in plan.overrides or {} if name.startswith("search.")]:
        raise ValueError(
            "The claims are scored by the greedy search of the config `claims`. Leave out "
            f"--config.{search[0]}"
        )
    toy_runs = ToyRuns(plan)
    with locked_folder(plan.folder):
        # In a child process, because listing the devices starts the backend.
        ends = [f"- {note}" for note in circumstances(plan, call_in_child(this_machine))]
        sections = []
        for name in names:
            module = importlib.import_module(f"{__package__}.{name}")
            sections.append(write_finding(plan.folder, name, module.finding(toy_runs)))
            text = "\n".join([*sections, *ends]) + "\n"
            write_text(plan.folder / "claims.md", text)
    return text
