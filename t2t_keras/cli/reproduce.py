"""t2t-reproduce: the paper's tables, each measured anew by one command.

t2t-reproduce table1                              what a layer costs over the length n
t2t-reproduce table1 --lengths=1024,2048,4096 --d_model=128 --output=narrow

Everything is written into the folder --output, line by line as it is measured. The same command
goes on where it was stopped, and measures nothing twice.
"""

from t2t_keras.checks import check_choice
from t2t_keras.cli.main import run
from t2t_keras.cli.reproductions import table1

TABLES = {
    "table1": table1.reproduce,
}


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(
            f"say which table: {' or '.join(TABLES)}. Received: {' '.join(arguments)!r}"
        )
    check_choice("TABLE", arguments[0], TABLES)
    TABLES[arguments[0]]()


def entry():
    run(main)


if __name__ == "__main__":
    entry()
