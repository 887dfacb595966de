"""Evaluations on held-out sets: losses are computed on all machines, translations on one."""

from t2t_keras.evaluation.held_out_metrics import joined


class Evaluator:
    """Measures a model on held-out sets.

    Args:
        model: a compiled `TrainableTransformer`.
        held_out: the sets, the main one first; see `Trainer`.
        machines: the `Machines` of the job.
    """

    def __init__(self, model, held_out, machines):
        self.model, self.held_out, self.machines = model, held_out, machines
        self.test_steps = {}  # {batch spec as text: graph}, one for all sets of the same kind

    def losses(self, on_progress):
        """Returns loss, perplexity and token accuracy of each set, in one dict.

        Args:
            on_progress: called with a set's name and the number of the batch that is computed next,
                from 1 on.
        """
        return joined({each.name: self.loss(each, on_progress) for each in self.held_out})

    def loss(self, held_out, on_progress):
        """Returns the metrics of one pass over the batches of a set."""
        self.model.reset_metrics()
        batches = held_out.distributed(self.machines.strategy)
        spec = str(batches.element_spec)
        if spec not in self.test_steps:
            step = self.machines.on_every_replica(self.model.test_step, batches.element_spec)
            self.test_steps[spec] = step
        metrics = {}
        for number, batch in enumerate(batches, 1):
            on_progress(held_out.name, number)
            metrics = self.test_steps[spec](batch)
        if not metrics:
            raise ValueError(f"The held-out set {held_out.name!r} has no batches")
        self.model.reset_metrics()
        return {name: float(value) for name, value in metrics.items()}

    def translations(self, on_progress):
        """Translates all sets.

        Args:
            on_progress: called with a set's name, its number of texts translated so far, and the
                number of all its texts.

        Returns:
            BLEU of each set, in one dict; and {name of a set: translations to show}.
        """
        metrics, examples = {}, {}
        for each in self.held_out:
            name = each.name
            results = each.translate(lambda *counts, name=name: on_progress(name, *counts))
            metrics[name], examples[name] = results.metrics, results.examples
        return joined(metrics), examples
