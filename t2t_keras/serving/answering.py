"""`Answering`: translations, scores and attention weights for the clients of all APIs.

An API turns a client's request into arguments of these methods, and their results into its answer.
Between two calls of the engine, a request runs Python code. Short code runs immediately. Long code
would delay other requests, so it runs in a thread.
"""

import asyncio
import contextlib
import functools
import weakref
from concurrent.futures import ThreadPoolExecutor

from t2t_keras.decoding.batches import LONGEST
from t2t_keras.export.signature_names import ATTENTION_LONGEST
from t2t_keras.serving.batching import bytes_of
from t2t_keras.serving.limits import Refusal
from t2t_keras.translating.calls import Call
from t2t_keras.translating.languages import code_of, language_name
from t2t_keras.translating.request import TextError, in_text
from t2t_keras.translating.translator import Translation

# Maximum characters of texts that are processed while all other requests wait: about 5 ms.
AT_ONCE = 1000
ROW = 50  # characters that count for each row in addition to its texts
# Options that make the Python code of a request slow.
SLOW = ("glossary", "markup", "alignments", "confidence", "mbr")
THREADS = 4  # maximum clients whose Python code runs in threads at the same time
PARSED = 130  # approximate bytes of memory for a character of a text full of tags, or a glossary
BYTES_PER_VALUE = 20  # estimated memory of a number in an answer, as JSON
NO_LANGUAGES = (
    "The languages of the models are not known. Start the server with a pair of languages as the "
    "name of each model: t2t-serve en-de=RUN"
)


class Answering:
    """Answers the requests of a server.

    Args:
        detector_for: function that takes codes of languages and returns a `LanguageDetector`. It
            raises `ValueError` if a package is missing.
        split: whether texts are split into sentences by default, each translated by itself:
            "auto", "off", or None for the model's default.
    """

    def __init__(self, models, limits, batcher, detector_for, split=None):
        self.models, self.limits, self.batcher, self.split = models, limits, batcher, split
        self.detector_for = functools.lru_cache(1)(detector_for)
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="steps")
        self.turns = weakref.WeakValueDictionary()  # {client: its `asyncio.Lock`}

    async def translate(self, rows, source, target, connection):
        """Translates texts with the model for two languages.

        Args:
            rows: a list of {field of `Request`: value}; see `ServedModel.request`. There are at
                most as many translations of a text as the beam is wide.
            source, target: codes of the languages. None as the source: it is detected.
            connection: the `Connection` of the request.

        Returns:
            The `Translation`s of each text, best first, the source language, and the percentage of
            confidence in it, None if it was given.
        """
        source, confidence = await self.source_of(rows, source, connection)
        target = self.known(target)
        found = self.models.pairs().get((source, target))
        if found is None and source == target:
            return [[Translation(row["text"], 0.0, [])] for row in rows], source, confidence
        if found is None:
            raise Refusal(
                400,
                f"{language_name(target)} ({target}) is not available as a target language from "
                f"{language_name(source)} ({source})",
            )
        model, how = found
        with model.find().in_use() as version:
            to, code = how
            beam, lead = version.model.engine.config.beam, f"{code} " if code else ""
            rows = [
                {**row, "text": lead + row["text"], "to": to}
                | {"n_best": min(row.get("n_best") or 1, beam)}
                for row in rows
            ]
            return await self.translations(rows, version.model, connection), source, confidence

    async def translations(self, rows, model, connection):
        """Returns the `Translation`s of each row, best first, by the model of a version in use.

        A row is {field of `Request`: value}; see `ServedModel.request`.
        """
        client, admitted = connection.client, len(rows)
        is_short = are_short(rows) and not model.glossary

        def requests():
            found = []
            for index, row in enumerate(rows):
                with in_text(index):
                    found.append(model.request({"split": self.split, **row}))
            return found

        with contextlib.ExitStack() as stack, refusing():
            stack.enter_context(self.batcher.admitted(admitted, client))
            connection.hold(memory_of(rows))
            found = await self.run(client, is_short, requests)
            steps, results = model.translator.steps(found, check_texts=self.check_texts), None
            while True:
                call, value = await self.run(client, is_short, advanced, steps, results)
                if call is None:
                    return value
                if call.total > admitted:  # the sentences and parts are known now
                    more = self.batcher.admitted(call.total - admitted, client)
                    stack.enter_context(more)
                    admitted = call.total
                results = await self.batcher(call, model, connection)

    async def run(self, client, is_short, function, *arguments):
        """Returns the result of a function, which runs immediately if it is short.

        Otherwise it runs in a thread. A client has one at a time, so that others find one free.
        """
        if is_short:
            return function(*arguments)
        async with self.turns.setdefault(client, asyncio.Lock()):
            loop = asyncio.get_running_loop()
            work = loop.run_in_executor(self.threads, function, *arguments)
            try:
                return await asyncio.shield(work)
            finally:  # if the client disconnects, the code still runs up to its next call
                await asyncio.gather(work, return_exceptions=True)

    async def pairs(self, method, sources, targets, model, connection):
        """Returns the ids of sources, the ids of targets, and the engine's result for each pair.

        The method is "log_p", "attention" or "all_attention".
        """
        client = connection.client
        longest = LONGEST if method == "log_p" else ATTENTION_LONGEST
        rows = [{"text": text} for text in (*sources, *targets)]
        with self.batcher.admitted(len(sources), client), refusing():
            ids = await self.run(client, are_short(rows), model.pair_ids, sources, targets, longest)
            call = Call(model.engine, method, dict(zip(("source", "target"), ids, strict=True)))
            results = await self.batcher(call, model, connection)
        values, most = sum(map(bytes_of, results)) // 4, self.limits.max_answer_values
        if values > most:
            raise Refusal(
                413,
                f"The answer would have {values:,} values; at most {most:,} are allowed. Send "
                "fewer or shorter texts",
            )
        connection.hold(BYTES_PER_VALUE * values)
        return *ids, results

    async def source_of(self, rows, source, connection):
        """Returns the source language, and the confidence in it if it is detected."""
        targets = self.targets()
        if source is not None:
            return self.known(source), None
        sources = [language for language in targets if targets[language]]
        try:
            is_html = any(row.get("markup") == "html" for row in rows)
            found = await self.detect([row["text"] for row in rows], connection, is_html)
        except Refusal:  # without a detector
            if len(sources) > 1:
                raise
            return sources[0], 0.0
        return found[0]

    async def detect(self, texts, connection, is_html=False):
        """Returns (language, percentage) pairs, likeliest first, of texts in a known language."""
        targets = self.targets()
        try:
            detector = self.detector_for(tuple(sorted(targets)))
        except ValueError as error:
            raise Refusal(400, f"{error}. Without it, give the source language") from error
        found = await self.run(connection.client, False, detector, " ".join(texts), is_html)
        # As in LibreTranslate, some language is always named.
        return found or [(next(code for code in targets if targets[code]), 0.0)]

    def targets(self):
        """Returns `ServedModels.targets`; refuses if no languages are known."""
        if targets := self.models.targets():
            return targets
        raise Refusal(400, NO_LANGUAGES)

    def known(self, language):
        """Returns the code of a requested language. Refuses one that no model knows."""
        code = code_of(language)
        if code not in self.targets():
            raise Refusal(400, f"{language[:80]} is not supported")
        return code

    def check_texts(self, texts):
        """Rejects `Text`s with a long sentence, or with too many sentences or samples of them."""
        count, rows = sum(len(text.sentences) * text.rows for text in texts), self.limits.rows
        if count > rows:
            raise Refusal(
                413,
                f"The texts of the request have {count:,} sentences; at most {rows:,} are allowed "
                "(half of --max_rows_in_flight of the server). A beam's width of samples counts as "
                "a sentence. Send fewer or shorter texts",
            )
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


def advanced(steps, results):
    """Returns (next `Call` of a generator, None), or (None, its return value) at its end."""
    try:
        return steps.send(results), None
    except StopIteration as stop:
        return None, stop.value


def are_short(rows):
    """Returns whether the Python code for rows takes only a few milliseconds."""
    values = [value for row in rows for value in row.values() if isinstance(value, str)]
    is_slow = any(row.get(name) for row in rows for name in SLOW)
    return not is_slow and sum(map(len, values)) + ROW * len(rows) <= AT_ONCE


def memory_of(rows):
    """Estimates the memory of parsed markup and glossaries, in bytes."""
    marked = [row["text"] for row in rows if row.get("markup")]
    glossaries = {id(row["glossary"]): row["glossary"] for row in rows if row.get("glossary")}
    return PARSED * sum(len(str(each)) for each in (*marked, *glossaries.values()))


@contextlib.contextmanager
def refusing():
    """Turns the error of a text into a `Refusal` that names its row."""
    try:
        yield
    except TextError as error:
        raise Refusal(400, f"Row {error.index}: {error}") from error
