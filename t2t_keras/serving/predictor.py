"""Answers predictions: from a parsed request to the body of the answer."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from t2t_keras.export.signature_constants import OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.paragraphs import SPLIT, Paragraphs, check_sentences
from t2t_keras.serving.rest import answer_of, inputs_of
from t2t_keras.serving.search_options import SEARCH, check_search
from t2t_keras.serving.wishes import WISHES, WishThreads, has_wishes
from t2t_keras.translating.sentences import whole

THREADS = 2  # answers converted to JSON at the same time, which bounds the memory for it
AT_ONCE = 4000  # bytes of texts that are split while other requests wait: about 5 ms


class Predictor:
    """Answers the predictions of a server.

    Args:
        limits: `Limits`.
        split_sentences: function from a text to its sentences and the separators between them.
            None: no text is split.
        split: whether a text is split by default, so that each sentence is translated by itself.
            None: the model's signature with options has the default.
    """

    def __init__(self, limits, split_sentences=None, split=None):
        self.limits, self.split_sentences, self.split = limits, split_sentences, split
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="answer")
        self.wish_threads = WishThreads()

    async def __call__(self, query, version, connection):
        """Returns the body of an answer.

        Args:
            query: a `Query`.
            version: the `Version` that answers.
            connection: the `Connection` of the request.
        """
        batcher = version.batchers.get(query.signature)
        if batcher is None:
            raise Refusal(
                404,
                f"Serving signature name: {query.signature[:80]!r} not found in signature def. "
                f"Available: {', '.join(version.batchers)}",
            )
        signature = batcher.signature
        longest = self.limits.attention_line if signature.answer_grows else self.limits.line
        split, specs = self.default_split(version), signature.inputs
        if SPLIT in specs:
            specs = specs | {SPLIT: specs[SPLIT]._replace(default=split)}
        fulfil = version.wishes if query.signature == OPTIONS else None
        inputs = inputs_of(query, specs | (WISHES if fulfil else {}), self.limits, longest)
        query.values.clear()  # the request may wait, and JSON values need much memory
        if query.signature == OPTIONS and specs.keys() >= {*SEARCH}:
            check_search(inputs, specs["beam"].default)
        if fulfil and has_wishes(inputs):
            arguments = fulfil, inputs, version.batchers, connection, self.divided()
            outputs = await self.wish_threads(*arguments)
        else:
            inputs = {name: inputs[name] for name in specs}
            arguments = inputs, split, version.split_code, batcher, connection
            outputs = await self.computed(*arguments)
        return await self.in_thread(answer_of, query.form, outputs)

    def divided(self):
        """Returns a function that divides the texts of a request, until they are too many."""
        count = 0

        def divide(text, split):
            nonlocal count
            sentences = (self.split_sentences if split and self.split_sentences else whole)(text)
            count += len(sentences[0])
            check_sentences(count, self.limits)
            return sentences

        return divide

    def default_split(self, version):
        """Returns whether a text is split by default."""
        if self.split is not None or OPTIONS not in version.batchers:
            return self.split is not False
        return version.batchers[OPTIONS].signature.inputs[SPLIT].default

    async def computed(self, inputs, split, split_code, batcher, connection):
        """Returns the outputs of a batcher. Texts of several sentences take several rows."""
        if not (batcher.signature.translates and self.split_sentences):
            return await batcher(inputs, connection)
        arguments = inputs, self.split_sentences, split, self.limits, split_code
        if sum(map(len, inputs["text"])) <= AT_ONCE:
            paragraphs = Paragraphs(*arguments)
        else:
            paragraphs = await self.in_thread(Paragraphs, *arguments)
        outputs = await batcher(paragraphs.inputs, connection)
        if paragraphs.are_sentences:
            return outputs
        return await self.in_thread(paragraphs.joined, outputs)

    async def in_thread(self, function, *arguments):
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)
