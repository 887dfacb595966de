"""t2t-reproduce: reproduces one of the paper's tables, or tests its claims.

t2t-reproduce table1                                      cost of layers at lengths n
t2t-reproduce table2 --rows=ende_base                     at full size, from TensorFlow Datasets
t2t-reproduce table2 --rows=ende_base --reduced=mixed --source=train.en --target=train.de \\
    --test_source=dev.en --test_target=dev.de
t2t-reproduce table2 --rows=ende_base,ende_gnmt --reduced=multi30k,gnmt:multi30k \\
    --operations=1e15 --source=… --target=… --dev_source=… --dev_target=… --test_source=… …
t2t-reproduce table3                                      all rows, small, on the toy grammar
t2t-reproduce table3 --reduced=multi30k --divide=4 --source=train.en --target=train.de \\
    --dev_source=val.en --dev_target=val.de
t2t-reproduce table4 --train='wsj/0[2-9]/*.mrg,wsj/1*/*.mrg,wsj/2[01]/*.mrg' \\
    --dev='wsj/22/*.mrg' --test='wsj/23/*.mrg'
t2t-reproduce table4 --train=gold.mrg --automatic='parsed/*.gz' --ratio=1 --dev=dev.mrg
t2t-reproduce table4 --run=runs/parsing --train=train.mrg --dev=dev.mrg
t2t-reproduce claims                                      experiments on the toy grammar
t2t-reproduce claims    --rows=scale

All files are written to the folder --output: prepared data, runs, logs, and finally the table as
Markdown and CSV. Run the same command to resume an interrupted one; finished stages are kept.
--divide, --divide_layers, --steps, --reduced=CONFIG and --config.part.field=value reduce the
paper's recipes. The notes below the table list every difference from the paper.
"""

import shlex
import sys
from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.config_flag import CONFIG, config_is, overrides, run_with_config
from t2t_keras.cli.main import will_resume
from t2t_keras.cli.process.backend import load_backend

# Each flag has the name and default of a field of `Plan`. Its help begins with its tables.
flags.DEFINE_string(
    "output", None, "All tables: folder for all files. Default: reproduced/ and the table's name."
)

flags.DEFINE_integer("d_model", 256, "table1: width d of the layers.")
flags.DEFINE_integer("heads", 4, "table1: heads h of both attention layers.")
flags.DEFINE_integer("neighbourhood", 65, "table1: neighbourhood r of restricted self-attention.")
flags.DEFINE_integer("kernel", 3, "table1: kernel width k of the convolutions.")
flags.DEFINE_list(
    "lengths", ["1024", "2048", "4096", "8192", "16384"], "table1: sequence lengths n."
)
flags.DEFINE_integer("rounds", 7, "table1: timed calls for each layer and length.")

flags.DEFINE_integer("divide", None, "table2, table3, table4: divisor of all widths of the models.")
flags.DEFINE_integer(
    "divide_layers", None, "table2, table3, table4: divisor of the number of layers."
)
flags.DEFINE_integer(
    "steps",
    None,
    "table2, table3, table4, claims: training steps; the warm-up shrinks in proportion.",
)
flags.DEFINE_string(
    "reduced",
    None,
    "table2, table3, table4: config with settings for less data or less time. In table2, one for "
    "each row, separated by commas; in table3, for all rows.",
)

flags.DEFINE_float(
    "operations",
    None,
    "table2: floating-point operations to train each row for, instead of --steps. So the rows cost "
    "the same.",
)
flags.DEFINE_list(
    "rows",
    None,
    "table2, table3, claims: names of the rows or experiments. Default: all; in table2, base "
    "and big, without the rivals.",
)
flags.DEFINE_string(
    "source",
    None,
    "table2, table3: source text to train on: a file, a glob, or several separated by commas. "
    "Default: WMT 2014 for table2, the toy grammar for table3.",
)
flags.DEFINE_string("target", None, "table2, table3: translations of --source.")
flags.DEFINE_string(
    "data", None, "table2, table3: folder written by t2t-prepare, to train on instead of --source."
)
flags.DEFINE_string(
    "tfds",
    None,
    "table2, table3: name or folder of a TensorFlow data set to train on instead of --source. Its "
    "validation and test splits are the held-out text and the test set.",
)
flags.DEFINE_string(
    "data_dir",
    None,
    "table2, table3: folder of prepared TensorFlow data sets. Default: ~/tensorflow_datasets.",
)
flags.DEFINE_string(
    "dev_source",
    None,
    "table2, table3: held-out source text, evaluated during training in table2, scored in table3.",
)
flags.DEFINE_string("dev_target", None, "table2, table3: translations of --dev_source.")
flags.DEFINE_integer(
    "seeds",
    1,
    "table3: number of trainings of base, each with a different seed. Their spread is the noise: "
    "smaller differences from base do not count.",
)
flags.DEFINE_string(
    "language", "de", "table3: target language, for the paper's BLEU and for --tfds."
)

flags.DEFINE_list("test_source", None, "table2: source files of the test sets, one per test set.")
flags.DEFINE_list("test_target", None, "table2: translations of the files of --test_source.")
flags.DEFINE_bool(
    "evaluate_only", False, "table2: score the runs in --output as they are; train nothing."
)
flags.DEFINE_string("run", None, "table2, table4: existing run to score; nothing is trained.")

flags.DEFINE_string(
    "train",
    None,
    "table4: trees to train on, or that --run was trained on: a file, a glob, or several separated "
    "by commas.",
)
flags.DEFINE_string("automatic", None, "table4: automatically parsed trees to mix with --train.")
flags.DEFINE_float(
    "ratio", None, "table4: automatic trees per gold tree. Default: all trees of both, once."
)
flags.DEFINE_string("dev", None, "table4: gold trees to score; section 22 in the paper.")
flags.DEFINE_string("test", None, "table4: gold trees to score; section 23 in the paper.")
flags.DEFINE_string(
    "leaves",
    None,
    "table4: symbol for a word among the brackets: XX, tag or word. Default: from --run, else XX.",
)


def main(arguments):
    command = Path(sys.argv[0]).name
    if len(arguments) != 1:
        raise ValueError(
            "takes one table: table1, table2, table3 or table4, or: claims. "
            f"Received: {' '.join(arguments) or 'none'}"
        )
    if arguments[0] != "table1":  # it has no stages
        will_resume()
    load_backend(on_jax=arguments[0] == "table1")
    from t2t_keras.reproduction import Plan, reproduce

    # `resolve_config` adds --config=base to the arguments.
    words = [word for word in sys.argv[1:] if not word.startswith("--config=")]
    plan = Plan(
        arguments[0],
        command=shlex.join([command, *words]),
        overrides=config_overrides(),
        **{
            flag.name: flag.value
            for flag in flags.FLAGS.get_flags_for_module(__name__)
            if flag.present
        },
    )
    try:
        print(reproduce(plan), end="")
    except KeyboardInterrupt:
        print(f"\n{command}: interrupted. Run the same command to resume", file=sys.stderr)
        sys.exit(130)
    print(f"{plan.table}: written to {plan.folder}", file=sys.stderr)


def config_overrides():
    """Returns the values of --config.part.field, by "part.field"."""
    if not config_is("base"):
        raise ValueError(
            "--config cannot be set as a whole, because each row of a table has its own config. "
            "--reduced=CONFIG names a smaller one; --config.part.field=value changes a setting of "
            f"all rows. Received: --config={flags.FLAGS[CONFIG.name].config_filename}"
        )
    return overrides()


def entry():
    run_with_config(main, default="base")


if __name__ == "__main__":
    entry()
