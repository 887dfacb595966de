"""t2t-reproduce: reproduces one of the paper's tables, or tests its claims.

t2t-reproduce table1                                      cost of layers at lengths n
t2t-reproduce table2 --rows=ende_base                     at full size, from TensorFlow Datasets
t2t-reproduce table2 --rows=ende_base --reduced=mixed --source=train.en --target=train.de \\
    --test_source=dev.en --test_target=dev.de
t2t-reproduce table2 --rows=ende_base,ende_gnmt --reduced=multi30k,gnmt:multi30k \\
    --operations=1e15 --source=train.en --target=train.de --dev_source=val.en \\
    --dev_target=val.de --test_source=test.en --test_target=test.de
t2t-reproduce table2 --rows=ende_base,ende_gnmt --reduced=multi30k,gnmt:multi30k \\
    --operations=1e14 --learning_rates=1e-3,3e-3 --layers=2/4,2/3 --seeds=2 \\
    --source=train.en --target=train.de --dev_source=val.en --dev_target=val.de \\
    --test_source=test.en --test_target=test.de
t2t-reproduce table3                                      all rows, small, on the toy grammar
t2t-reproduce table3 --seeds=3 --rows=base,A_h1           some rows, with three seeds
t2t-reproduce table3 --reduced=multi30k --divide=4 --source=train.en --target=train.de \\
    --dev_source=val.en --dev_target=val.de
t2t-reproduce table4 --train='wsj/0[2-9]/*.mrg,wsj/1*/*.mrg,wsj/2[01]/*.mrg' \\
    --dev='wsj/22/*.mrg' --test='wsj/23/*.mrg'
t2t-reproduce table4 --train=gold.mrg --automatic='parsed/*.gz' --ratio=1 --dev=dev.mrg
t2t-reproduce table4 --train=train.mrg --dev=dev.mrg --reduced=small_treebank \\
    --first=small_treebank:short --leaves=word
t2t-reproduce table4 --run=runs/parsing --train=train.mrg --dev=dev.mrg
t2t-reproduce claims                                      experiments on the toy grammar
t2t-reproduce claims --rows=scale

All files are written to the folder --output: prepared data, runs, logs, and finally the table as
Markdown and CSV. Run the same command to resume an interrupted one; finished stages are kept.
--divide, --divide_layers, --steps, --reduced=CONFIG and --config.part.field=value reduce the
paper's recipes. The notes below the table list every difference from the paper.
"""

import sys

from t2t_keras.cli.flags.config_flag import LOADED, config_loader
from t2t_keras.cli.flags.field_flags import define_flag
from t2t_keras.cli.main import command_line, positional, will_resume
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.reproduction import Plan, reproduce
from t2t_keras.reproduction.plan import TABLES, settings

LOAD_CONFIG = config_loader("base")


def purpose_of(field):
    """Returns the help of the flag for a field of `Plan`. It begins with the tables."""
    tables = field.metadata["tables"]
    tables = "All tables" if len(tables) == len(TABLES) else ", ".join(tables)
    return f"{tables}: {field.metadata['description']}"


FLAGS_OF_PLAN = [
    define_flag(field, field.default, purpose_of(field))
    for field in settings()
    if field.metadata["description"]
]


def main(arguments):
    (table,) = positional(arguments, 1, "one table: table1, table2, table3 or table4, or: claims")
    if table != "table1":  # it has no stages
        will_resume()
    for argument in LOADED.given:
        if argument.startswith("--config="):
            raise ValueError(
                "--config cannot be set as a whole, because each row of a table has its own "
                "config. --reduced=CONFIG names a smaller one; --config.part.field=value changes a "
                f"setting of all rows. Received: {argument}"
            )
    load_backend(on_jax=table == "table1")
    plan = Plan(
        table,
        command=command_line(),
        overrides=LOADED.overrides,
        **{flag.name: flag.value for flag in FLAGS_OF_PLAN if flag.present},
    )
    print(reproduce(plan), end="")
    print(f"{plan.table}: written to {plan.folder}", file=sys.stderr)
