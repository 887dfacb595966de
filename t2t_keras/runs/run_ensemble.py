"""Several runs that translate together as an ensemble."""

from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.runs.run import Run
from t2t_keras.runs.trained_model import TrainedModel


class RunEnsemble(TrainedModel):
    """Runs with the same vocabulary, whose models translate as an ensemble.

    Args:
        folders: paths of the runs' folders. The ensemble uses the settings of the first run.
        to, trust: see `Run`.
    """

    def __init__(self, folders, to=None, trust=False):
        super().__init__()
        self.to, self.runs = to, [Run(folder, to, trust) for folder in folders]
        first, *others = self.runs
        contents = first.vocabulary().contents()
        for run in others:
            if run.vocabulary().contents() != contents:
                raise ValueError(
                    f"{run.folder} has a different vocabulary than {first.folder}. An ensemble's "
                    "runs must be trained with the same vocabulary (t2t-prepare --vocabulary)"
                )

    def experiment(self):
        return self.runs[0].experiment()

    def vocabulary(self):
        return self.runs[0].vocabulary()

    def tokenizer(self):
        return self.runs[0].tokenizer()

    def tags(self):
        return self.runs[0].tags()

    @property
    def folder(self):
        return self.runs[0].folder

    def prepared_with(self, name):
        """Returns an entry of the first run's `preparation.json`; see `Run.prepared_with`."""
        return self.runs[0].prepared_with(name)

    def model(self, weights=None):
        return Ensemble([run.model(weights) for run in self.runs])

    def weights_key(self, weights):
        return tuple(run.weights_key(weights) for run in self.runs)


def load_runs(folders, to=None, trust=False):
    """Returns the run in a folder, or the ensemble of the runs in several folders.

    Args:
        folders: paths of the runs' folders.
        to, trust: see `Run`.
    """
    if not folders:
        raise ValueError("takes a run's folder, or several for an ensemble. Received: none")
    for folder in folders:
        Run(folder, trust=trust).experiment()  # raises a clear error if the folder is not a run
    return Run(folders[0], to) if len(folders) == 1 else RunEnsemble(folders, to)
