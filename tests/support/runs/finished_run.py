"""The files and the weights of a run whose training has ended."""


def weights_of(run, weights):
    return [weight.numpy() for weight in run.model(weights).weights]


def contents_of(folder):
    """Returns the bytes of all files, without locks and those that each start rewrites."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith((".lock", "config.json", "metrics.jsonl"))
    }
