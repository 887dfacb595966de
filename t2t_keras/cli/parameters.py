"""t2t-parameters: counts the weights of a config's model, or of all rows of Table 3; draws a model.

t2t-parameters                                         Table 3 of the paper, every row
t2t-parameters --config=table3:B_dk16                  one config, part by part
t2t-parameters --config=base --config.model.d_ff=4096  the same config with one setting changed
t2t-parameters --config=base --diagram=base.png        also draws it, as in Figures 1 and 2
"""

from absl import flags

from t2t_keras.cli.flags.config_flag import CONFIG, config_loader, refuse_config
from t2t_keras.cli.flags.shared_flags import refuse_unused
from t2t_keras.cli.main import positional
from t2t_keras.cli.process.backend import load_backend

LOAD_CONFIG = config_loader()

DIAGRAM = flags.DEFINE_string(
    "diagram",
    None,
    "PNG file for a diagram of the model of --config, like the paper's Figures 1 and 2.",
)

# The paper says "about 37,000" pieces. Its printed counts imply 41,004 to 41,208 pieces in every
# row except "big", whose 213 million imply about 36,000.
VOCABULARY_SIZES = (37000, 41100)


def main(arguments):
    positional(arguments, 0, "flags only")
    refuse_config("on the number of weights", "training.", "data.", "search.")
    if CONFIG.value is None:
        refuse_unused([DIAGRAM], "without --config, whose model it draws")
    if not (DIAGRAM.value or ".png").lower().endswith(".png"):
        raise ValueError(
            f"--diagram must be a PNG file, such as base.png. Received: --diagram={DIAGRAM.value}"
        )
    load_backend(on_jax=True)
    if CONFIG.value is None:
        print_table3()
    else:
        print_model(CONFIG.value)


def print_model(experiment):
    """Prints the settings of a model and the weight count of each part."""
    from t2t_keras.parameters import grouped_counts, parameter_counts

    experiment.validate()
    if DIAGRAM.value is not None:
        draw_model(experiment.model, DIAGRAM.value)
    config = experiment.model.resolved()
    counts = parameter_counts(config)
    print(config)
    print()
    for part, count in grouped_counts(counts).items():
        print(f"{part:<26}{count:>14,}")
    print(f"{'all':<26}{sum(counts.values()):>14,}")


def draw_model(config, path):
    from pipelines.atomic_files import atomic_file
    from t2t_keras.models import model_class
    from t2t_keras.parameters import without_values
    from t2t_keras.visualization.diagrams.model_diagram import model_diagram

    model = without_values(lambda: model_class(config)(config))
    with atomic_file(path) as file:
        model_diagram(file, model)


def print_table3():
    """Prints our counts in millions and their differences from base, next to the paper's."""
    from t2t_keras.config_files import find_config, load_config_file
    from t2t_keras.parameters import parameter_counts

    table3 = load_config_file(find_config("table3"))
    ours, paper = f"{'weights':>10}{'− base':>9}", f"{'printed':>9}{'− base':>9}"
    print("Table 3: trained weights in millions, and the difference from the base model")
    sizes = "".join(f"{f'{size:,} pieces':>19}" for size in VOCABULARY_SIZES)
    print(f"{'':<16}{sizes}{'paper':>18}")
    print(f"{'row':<16}{ours}{ours}{paper}")
    printed_base, base = table3.PRINTED_MILLIONS["base"], {}
    for row in table3.MODELS:
        line = f"{row:<16}"
        for size in VOCABULARY_SIZES:
            config = table3.get_config(row).model
            config.vocab_size = size
            count = sum(parameter_counts(config).values()) / 1e6
            base.setdefault(size, count)
            line += f"{count:>10.2f}{count - base[size]:>+9.2f}"
        if row in table3.PRINTED_MILLIONS:
            printed = table3.PRINTED_MILLIONS[row]
            line += f"{printed:>9}{printed - printed_base:>+9}"
        print(line, flush=True)
