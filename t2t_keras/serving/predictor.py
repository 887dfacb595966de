"""Answers prediction requests: takes a parsed request and returns the body of the answer."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.rest import answer_of, inputs_of
from t2t_keras.serving.steps import Steps
from t2t_keras.serving.translations import glossary_memory, is_slow, refusing

THREADS = 2  # maximum answers converted to JSON at the same time, to limit memory
# Maximum bytes of texts that are processed while all other requests wait, which takes about 5 ms.
AT_ONCE = 1000
ROW = 50  # bytes that count for each row in addition to its texts


class Predictor:
    """Answers the prediction requests of a server.

    Args:
        limits: `Limits`.
        workers: the `Workers`, which count the rows in flight.
        split: whether texts are split into sentences by default, each translated by itself. None:
            the model's default.
    """

    def __init__(self, limits, workers, split=None):
        self.limits, self.workers, self.split = limits, workers, split
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="answer")
        self.steps = Steps()

    async def __call__(self, query, version, connection):
        """Returns the body of an answer.

        Args:
            query: a `Query`.
            version: the `Version` that answers.
            connection: the `Connection` of the request.
        """
        signature = version.signatures.get(query.signature)
        if signature is None:
            raise Refusal(
                404,
                f"Serving signature name: {query.signature[:80]!r} not found in signature def. "
                f"Available: {', '.join(version.signatures)}",
            )
        longest = (
            self.limits.max_attention_text_bytes
            if signature.answer_grows
            else self.limits.max_text_bytes
        )
        specs = signature.inputs
        if "split" in specs and self.split is not None:
            specs = specs | {"split": specs["split"]._replace(default=self.split)}
        inputs = inputs_of(query, specs, self.limits, longest)
        query.values.clear()  # the request may wait, and JSON values take much memory
        if query.signature in version.batchers:
            outputs = await version.batchers[query.signature](inputs, connection)
        else:
            outputs = await self.translated(query.signature, inputs, version, connection)
        return await self.in_thread(answer_of, query.form, outputs)

    async def translated(self, name, inputs, version, connection):
        """Returns {output: array} for a signature that translates."""
        translations, client = version.translations, connection.client
        texts = inputs["text"]
        split = translations.translator.engine.split == "auto" if self.split is None else self.split
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.workers.admitted(len(texts), client))
            is_short, arguments = are_short(inputs), (name, inputs, split)
            if is_short:
                requests = translations.requests(*arguments)
            else:
                requests = await self.steps.in_thread(client, translations.requests, *arguments)
            connection.hold(glossary_memory(requests))
            is_short = is_short and not is_slow(requests)
            admitted = len(texts)

            async def called(call):
                nonlocal admitted
                check_sentences(call.total, self.limits)
                if call.total > admitted:  # the sentences and parts are known now
                    more = self.workers.admitted(call.total - admitted, client)
                    stack.enter_context(more)
                    admitted = call.total
                return await version.batcher(call)(call, connection)

            steps = refusing(translations.translator.steps(requests))
            results = await self.steps(steps, called, client, is_short)
            arguments = name, requests, results
            if is_short:
                return translations.arrays(*arguments)
            return await self.in_thread(translations.arrays, *arguments)

    async def in_thread(self, function, *arguments):
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)


def are_short(inputs):
    """Returns whether the Python code for a request's texts takes only a few milliseconds.

    Args:
        inputs: {input: array}.
    """
    strings = [array for array in inputs.values() if array.dtype == object]
    size = sum(len(text) for array in strings for text in array)
    return size + ROW * len(strings[0]) <= AT_ONCE


def check_sentences(count, limits):
    """Rejects a request with too many sentences."""
    if count > limits.rows:
        raise Refusal(
            413,
            f"The texts of the request have {count:,} sentences; at most {limits.rows:,} are "
            "allowed. Send fewer or shorter texts",
        )
