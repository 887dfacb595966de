"""The trained models that a distillation uses, by folder: runs and exports.

Nothing here loads TensorFlow, which would keep the memory of a GPU from the stages.
"""

from pathlib import Path

from pipelines.atomic_files import read_json
from pipelines.text.sources import digest_of
from pipelines.tokenizers.tags import chosen_tag
from t2t_keras.runs.exports.fitting import fitting, requested
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.exports import check_kind, is_export, newest_in, record_of
from t2t_keras.translating.languages import Languages, languages_of


class GivenModel:
    """A run or an export.

    Args:
        folder: its folder. For an export, the newest version in it is used.
        flag: name of the argument or flag that names it, for messages.
    """

    def __init__(self, folder, flag="The model"):
        self.name = folder
        self.is_export = is_export(folder)
        self.folder = newest_in(folder) if self.is_export else Path(folder)
        if not self.is_export and not RunFolder(folder).config_file.exists():
            raise ValueError(
                f"{flag} must be a run or an export. {folder} is neither: it has no config.json. "
                "t2t-train and t2t-import create runs"
            )

    @property
    def vocabulary(self):
        return self.folder / "vocabulary"

    def languages(self):
        """Returns the recorded `Languages`, or None."""
        return languages_of(self.folder)

    def beam(self):
        """Returns the beam width that the model translates with by default."""
        if self.is_export:
            return record_of(self.folder)["search"]["beam"]
        return RunFolder(self.name).search_settings().beam

    def digest(self):
        """Returns a digest of everything that the model's translations depend on."""
        if self.is_export:
            files = sorted(path for path in self.folder.rglob("*") if path.is_file())
            return digest_of(path for path in files if path.name != ".lock")
        return RunFolder(self.name).translations_digest()


def given_teachers(plan):
    """Returns the `GivenModel` of each teacher. A missing export of a single one is reported."""
    teachers = [GivenModel(folder, "TEACHER") for folder in plan.teachers]
    first = teachers[0]
    if plan.apache_beam and not (len(teachers) == 1 and first.is_export):
        raise ValueError(
            "--apache_beam needs one teacher that is an export. t2t-train and t2t-export leave one "
            f"in RUN/export_litert. Received: {' '.join(plan.teachers)}"
        )
    if first.is_export:
        check_kind(first.folder, plan.engine, plan.dtype)
    elif len(teachers) == 1:
        engine, must = requested(plan.engine, plan.dtype)
        if must and engine != "tensorflow":
            fitting(RunFolder(first.name), engine, plan.dtype or "float32")
    return teachers


def check_reverse(reverse):
    """Rejects a reverse model that translates into several languages: none could be chosen."""
    if not reverse.is_export:
        try:
            chosen_tag(None, RunFolder(reverse.name).tags())
        except ValueError as error:
            raise ValueError(
                "--reverse must be a model that translates into one language. Received: "
                f"{reverse.name}, whose training data has several tags"
            ) from error


def check_directions(plan, teachers, reverse):
    """Rejects models and data whose recorded languages contradict each other.

    Returns the `Languages` of the student, or None if nothing records them.
    """
    known = {teacher.name: teacher.languages() for teacher in teachers}
    if plan.data:
        recorded = read_json(Path(plan.data) / "preparation.json", {}).get("languages")
        known = {f"--data={plan.data}": recorded and Languages(*recorded)} | known
    if reverse is not None and (theirs := reverse.languages()):
        known[f"--reverse={reverse.name}"] = theirs[::-1]
    known = {name: tuple(languages) for name, languages in known.items() if languages}
    if len(set(known.values())) > 1:
        found = ", ".join(f"{name} {'-'.join(languages)}" for name, languages in known.items())
        raise ValueError(
            "Teacher and data must be of one direction, and --reverse of the other. Received, in "
            f"the direction of the teacher: {found}"
        )
    return Languages(*next(iter(known.values()))) if known else None
