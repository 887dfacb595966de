"""The appendix's heads: long-distance links, anaphora and syntax in a trained encoder (§4).

The model translates documents of the toy grammar. German pronouns have the gender of a noun in an
earlier sentence, so the model has to find the antecedent of "it". The grammar knows all links.
"""

import functools

from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.heads import side_by_side, title_of
from t2t_keras.reproduction.claims.relation_analysis import (
    DOCUMENTS,
    DRAWN,
    PRONOUNS,
    ROWS,
    WORDS,
    analyse,
    commonest_gender,
)
from t2t_keras.reproduction.claims.toy_runs import analysed, last
from t2t_keras.reproduction.texts import encoded_toy_documents
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel
from t2t_keras.visualization.word_lines import Drawing, word_lines

LAYERS = 3  # layers of encoder and decoder
LONGER = 4  # steps relative to the other experiments, because documents are harder
LOWER_RATE = 5 / 12  # learning rate relative to the other experiments, whose models are shallower
TRAINED = 40  # maximum of the minimum number of words of a training document
SHORTEST = 8  # minimum number of words of a training document
WIDTH = 0.7  # width of a layer's group of heads in a panel, in units of the x axis
MAX_LENGTH = 128  # maximum tokens of a training document; a few are longer and left out


def finding(toy_runs):
    changes = changes_of(toy_runs)
    recipe = toy_runs.recipe(changes)
    text = encoded_toy_documents(toy_runs.plan.folder / "documents", recipe, TRAINED, SHORTEST)
    run = toy_runs.trained("structure", changes, text)
    settings = run.experiment()
    result = analysed(run, "relations", analyse, {"documents": [DOCUMENTS, WORDS, PRONOUNS]})
    return Finding(
        title="Heads that follow the structure of the text",
        claim="Not only do individual attention heads clearly learn to perform different tasks, "
        "many appear to exhibit behavior related to the syntactic and semantic structure of the "
        "sentences (§4); the appendix shows long-distance dependencies and anaphora",
        tables={
            "structure": [row(name, result["rows"][name]) for name in ROWS],
            "structure-pronouns": [pronouns_row(result)],
        },
        panels=panels(result),
        pictures={"structure-heads": lambda file: word_lines(file, drawings(result))},
        notes=[
            f"{DOCUMENTS} held-out documents of {WORDS} words and more. The best head and the best "
            "distance are chosen on one half and measured on the other. A head's weight on a word "
            "is the sum over its pieces. Largest: share of the links on which the head's largest "
            "weight is on the linked word. Fixed distance: share of the links with the most "
            "frequent distance. Untrained: weight of the best head of a model with random weights.",
            f"Pronouns: {PRONOUNS} documents; the right German pronoun against the two of "
            "other genders, by the probability of the whole translation, with the rows of W^O of "
            "one head set to 0. The decoder can also find the gender in the German noun.",
            f"{LAYERS} + {LAYERS} layers, d_model {settings.model.d_model}, "
            f"{settings.model.num_heads} heads; {settings.data.toy_pairs:,} documents of "
            f"{SHORTEST} to {TRAINED} words, {settings.training.steps:,} steps of "
            f"{settings.data.batches.tokens:,} positions, one seed; BLEU {last(run, 'bleu'):.1f}.",
        ],
    )


def changes_of(toy_runs):
    """Returns {setting: value}, relative to the settings of the other experiments."""
    rate = toy_runs.recipe({}).experiment.training.learning_rate
    return {
        "model.num_layers": LAYERS,
        **toy_runs.longer(LONGER),
        "training.learning_rate": LOWER_RATE * rate,
        "data.batches.max_length": MAX_LENGTH,
    }


def pronouns_row(result):
    pronouns, rows = result["pronouns"], result["rows"]
    layer, head = next(rows[name]["head"] for name, key in ROWS.items() if key == ("antecedent", 1))
    without = {
        f"{title_of(name)}, head {index + 1}": share
        for name, shares in pronouns["without"].items()
        for index, share in enumerate(shares)
    }
    worst = min(without, key=without.get)
    return {
        "documents": str(pronouns["cases"]),
        "right pronoun": number(pronouns["right"], ".0%"),
        "always one gender": number(commonest_gender(), ".0%"),
        "without the antecedents' head": number(
            pronouns["without"][f"encoder/{layer}/self_attention"][head], ".0%"
        ),
        "without the most important head": f"{without[worst]:.0%} ({worst})",
    }


def row(name, found):
    layer, head = found["head"]
    return {
        "link": name,
        "links": f"{found['cases']:,}",
        "mean distance": number(found["distance"], ".1f"),
        "best head": f"{layer + 1}.{head + 1}",
        "its weight on the linked word": number(found["share"], ".2f"),
        "largest": number(found["largest"], ".0%"),
        "fixed distance": f"{found['fixed']:.0%} ({found['offset']:+})",
        "untrained": number(found["untrained"], ".2f"),
        "chance": number(found["chance"], ".2f"),
    }


def panels(result):
    without = result["pronouns"]["without"]
    heads = len(next(iter(without.values())))

    def ticks(names):
        return {index: title_of(name) for index, name in enumerate(names)}

    by_head = functools.partial(side_by_side, heads=heads, width=WIDTH)
    near = {name: key[0] for name, key in ROWS.items() if key[1] == 1}
    right = [share for shares in without.values() for share in shares]
    return [
        Panel(
            "weight on the linked word, every head",
            {name: by_head(result["rows"][name]["shares"]) for name in near},
            "heads of the encoder",
            joined=False,
            ticks=ticks(name for name in without if name.startswith("encoder")),
        ),
        Panel(
            "weight of the best head by distance",
            {
                name: {int(n): share for n, share in result["distances"][kind].items()}
                for name, kind in near.items()
            },
            "distance in words",
        ),
        Panel(
            "right pronouns",
            {
                "without one head": by_head(right),
                "with all heads": by_head([result["pronouns"]["right"]] * len(right)),
            },
            "heads of encoder and decoder; x: cross-attention",
            joined=False,
            ticks={
                index: title.replace("encoder", "enc")
                .replace("decoder", "dec")
                .replace("cross", "x")
                for index, title in ticks(without).items()
            },
        ),
    ]


def drawings(result):
    example = result["example"]
    return [
        Drawing(
            f"{name.partition(',')[0]}: head {head + 1} of layer {layer + 1}",
            example["words"],
            example["weights"][name],
            [start for start, _ in example["links"][name]],
            tuple(map(tuple, example["links"][name])),
        )
        for name in DRAWN
        for layer, head in [result["rows"][name]["head"]]
    ]
