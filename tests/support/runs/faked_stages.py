"""The commands of a distillation's stages, replaced by copies of small files."""

import shutil
from pathlib import Path

from pipelines.atomic_files import write_json


class Ended:
    """The process of a stage that has ended with a code."""

    def __init__(self, code=0):
        self.code = code

    def wait(self, timeout):
        return self.code


class FakedStages:
    """Writes files that look as if the stages had run."""

    def __init__(self, run, vocabulary):
        self.run, self.vocabulary, self.started, self.failing = run, vocabulary, [], None

    def start(self, command, arguments, log):
        flags = dict(each.lstrip("-").split("=", 1) for each in arguments if "=" in each)
        words = [each for each in arguments if not each.startswith("--")]
        self.started.append((command, flags, words))
        log.write(f"{command} says so\n".encode())
        if command == self.failing:
            return Ended(2)
        getattr(self, command)(flags)
        return Ended()

    def translate(self, flags):
        with open(flags["input"]) as lines, open(flags["output"], "w") as output:
            for line in lines:
                output.writelines(f"{i} {line}" for i in range(int(flags.get("n_best", 1))))

    def score(self, flags):
        with open(flags["source"]) as lines, open(flags["output"], "w") as output:
            output.writelines("-6\t4.5\t4\n" for _ in lines)

    def prepare(self, flags):
        folder = Path(flags["output"])
        shutil.copytree(flags.get("vocabulary", self.vocabulary), folder / "vocabulary")
        report = {"counts": {"read": 1, "kept": 1}, "vocabulary": {"size": 400}}
        write_json(folder / "report.json", report)

    def train(self, flags):
        shutil.copytree(self.run, flags["run"], dirs_exist_ok=True)

    def commands(self):
        """Returns the commands since the last call."""
        found, self.started = [command for command, _, _ in self.started], []
        return found
