"""t2t-reproduce: the paper's tables, each by one command.

t2t-reproduce table1                                      what a layer costs over the length n
t2t-reproduce table2 --rows=ende_base                     at full size, from TensorFlow Datasets
t2t-reproduce table2 --rows=ende_base --reduced=mixed --source=train.en --target=train.de \\
    --test_source=dev.en --test_target=dev.de
t2t-reproduce table3                                      all rows on the toy grammar, much smaller
t2t-reproduce table3 --reduced=multi30k --divide=4 --source=train.en --target=train.de \\
    --dev_source=val.en --dev_target=val.de
t2t-reproduce table4 --train='wsj/0[2-9]/*.mrg,wsj/1*/*.mrg,wsj/2[01]/*.mrg' \\
    --dev='wsj/22/*.mrg' --test='wsj/23/*.mrg'
t2t-reproduce table4 --train=gold.mrg --automatic='parsed/*.gz' --ratio=1 --dev=dev.mrg
t2t-reproduce table4 --run=runs/parsing --train=train.mrg --dev=dev.mrg

Everything is written into the folder --output: prepared data, runs, logs, and in the end the table
as Markdown and CSV. The same command goes on where it was stopped, and does nothing twice.
--divide, --steps, --reduced=CONFIG and --config.part.field=value make the paper's recipes smaller;
what they change stands under the table.
"""

from absl import flags

from t2t_keras.checks import check_choice
from t2t_keras.cli.benchmarks import lengths, timing
from t2t_keras.cli.main import run
from t2t_keras.reproduction import (
    given_run,
    output_flag,
    recipes,
    table1,
    table2,
    table3,
    table4,
    texts,
)

# What makes a table, and the modules whose flags it looks at.
TABLES = {
    "table1": (table1.reproduce, {output_flag, lengths, timing, table1}),
    "table2": (table2.reproduce, {output_flag, recipes, given_run, texts, table2}),
    "table3": (table3.reproduce, {output_flag, recipes, texts, table3}),
    "table4": (table4.reproduce, {output_flag, recipes, given_run, table4}),
}
MODULES = set().union(*(modules for _, modules in TABLES.values()))


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(
            f"say which table: {' or '.join(TABLES)}. Received: {' '.join(arguments)!r}"
        )
    check_choice("TABLE", arguments[0], TABLES)
    reproduce, modules = TABLES[arguments[0]]
    refuse_others(arguments[0], modules)
    reproduce()


def refuse_others(table, modules):
    """Refuses flags that a table does not look at."""
    for module in MODULES - modules:
        for flag in flags.FLAGS.get_flags_for_module(module.__name__):
            if flag.present:
                raise ValueError(f"--{flag.name} is not for {table}. See --help")
    if recipes not in modules and recipes.overrides():
        raise ValueError(f"--config is not for {table}, which trains nothing. See --help")


def entry():
    # What --config.part.field changes, it changes in every row.
    run(main, default_config="base")


if __name__ == "__main__":
    entry()
