"""A command with a defect."""

from t2t_keras.cli.main import run


def main(arguments):
    raise KeyError("defect")


if __name__ == "__main__":
    run(main, lambda arguments: None)
