"""Answers prediction requests: takes a parsed request and returns the body of the answer."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.rest import answer_of, inputs_of
from t2t_keras.serving.steps import Steps
from t2t_keras.serving.translations import glossary_memory, is_slow, markup_memory, refusing

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
        specs = signature.inputs
        if "split" in specs and self.split is not None:
            specs = specs | {"split": specs["split"]._replace(default=self.split)}
        if query.signature not in version.batchers:
            # The text is divided into sentences, which have a limit; see `check_texts`.
            specs = specs | {"text": specs["text"]._replace(longest=self.limits.max_body_bytes)}
        flag = "max_attention_text_bytes" if signature.answer_grows else "max_text_bytes"
        longest = getattr(self.limits, flag), flag
        inputs = inputs_of(query, specs, self.limits, longest)
        query.values.clear()  # the request may wait, and JSON values take much memory
        if query.signature in version.batchers:
            outputs = await version.batchers[query.signature](inputs, connection)
        else:
            outputs = await self.translated(query.signature, inputs, version, connection)
        return await self.in_thread(answer_of, query.form, outputs)

    async def translated(self, name, inputs, version, connection):
        """Returns {output: array} for a signature that translates."""
        translations = version.translations
        split = translations.translator.engine.split == "auto" if self.split is None else self.split
        strings = [array for array in inputs.values() if array.dtype == object]
        short = are_short(sum(len(text) for array in strings for text in array), len(strings[0]))
        asked = []

        def requests():
            asked.extend(translations.requests(name, inputs, split))
            return asked

        results = await self.translations(requests, len(inputs["text"]), short, version, connection)
        if short:
            return translations.arrays(name, asked, results)
        return await self.in_thread(translations.arrays, name, asked, results)

    async def translations(self, make_requests, rows, is_short, version, connection):
        """Returns the `Translation`s of each of a client's requests, best first.

        Args:
            make_requests: function that returns a list of `Request`s.
            rows: their number.
            is_short: whether their texts are short; see `are_short`.
            version: the `Version` that answers.
            connection: the `Connection` of the client's request.
        """
        client, translator = connection.client, version.translations.translator
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.workers.admitted(rows, client))
            if is_short:
                requests = make_requests()
            else:
                requests = await self.steps.in_thread(client, make_requests)
            glossaries = glossary_memory(requests, version.translations.default_glossary)
            connection.hold(glossaries + markup_memory(requests))
            is_short = is_short and not is_slow(requests)
            admitted = rows

            async def called(call):
                nonlocal admitted
                check_sentences(call.total, self.limits)
                if call.total > admitted:  # the sentences and parts are known now
                    more = self.workers.admitted(call.total - admitted, client)
                    stack.enter_context(more)
                    admitted = call.total
                return await version.batcher(call)(call, connection)

            steps = refusing(translator.steps(requests, check_texts=self.check_texts))
            return await self.steps(steps, called, client, is_short)

    def check_texts(self, texts):
        """Rejects `Text`s with a long sentence, or with too many sentences."""
        check_sentences(sum(len(text.sentences) for text in texts), self.limits)
        longest = self.limits.max_text_bytes
        for row, text in enumerate(texts):
            size = max((len(each.encode("utf-8", "replace")) for each in text.sentences), default=0)
            if size > longest:
                raise Refusal(
                    413,
                    f"Row {row}: a sentence has {size:,} bytes; at most {longest:,} are allowed "
                    "(--max_text_bytes of the server). Texts are divided at line breaks, and after "
                    "full stops, unless `split` is off or phrases are required",
                )

    async def in_thread(self, function, *arguments):
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)


def are_short(size, rows):
    """Returns whether the Python code for a request's texts takes only a few milliseconds.

    Args:
        size: characters or bytes of all texts.
        rows: number of texts.
    """
    return size + ROW * rows <= AT_ONCE


def check_sentences(count, limits):
    """Rejects a request with too many sentences."""
    if count > limits.rows:
        raise Refusal(
            413,
            f"The texts of the request have {count:,} sentences; at most {limits.rows:,} are "
            "allowed (half of --max_rows_in_flight of the server). Send fewer or shorter texts",
        )
