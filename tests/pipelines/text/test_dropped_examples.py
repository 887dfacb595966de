from pipelines.text.dropped_examples import EXAMPLES, LONGEST, DroppedExamples

PAIRS = [(f"source {n}", f"target {n}") for n in range(200)]


def examples_of(pairs):
    examples = DroppedExamples()
    for pair in pairs:
        examples.add("rule", pair)
    return examples


def test_examples_depend_on_the_pairs_alone_not_on_order_or_division():
    whole = examples_of(PAIRS)
    assert len(whole.pairs()["rule"]) == EXAMPLES
    assert examples_of(reversed(PAIRS + PAIRS)).contents() == whole.contents()
    parts = DroppedExamples()
    for first in (100, 0, 150, 50):
        parts.update(examples_of(PAIRS[first : first + 50]).contents())
    assert parts.contents() == whole.contents()
    numbers = [int(source.split()[1]) for source, _ in whole.pairs()["rule"]]
    assert min(numbers) < 60 and max(numbers) > 140, "from the whole corpus"


def test_long_texts_are_shortened():
    (pair,) = examples_of([("x" * 5000, "short")]).pairs()["rule"]
    assert pair == ["x" * LONGEST + "…", "short"]
