"""A server of the web page with scripted answers, for tests of the page alone.

It translates word by word with a small dictionary. Its second translation ends in an exclamation
mark, and so on.
"""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from t2t_keras.serving.page.page import page
from t2t_keras.translating.languages import Languages

WORDS = {"the": "der", "dog": "Hund", "cat": "Katze", "sees": "sieht", "sleeps.": "schläft."}
CONFIDENCE = {"Hund": 0.4123, "sieht": 0.75}  # of the other words: 0.95
ENDINGS = ("", "!", "?", " …")
NO_SCORE = -3.4028235e38
OPTIONS = {"beam": 4, "n_best": 1, "alpha": 0.6000000238418579, "split": True, "prefix": ""}
OPTIONS |= {"require": "", "glossary": "", "markup": "", "alignments": False, "confidence": False}


class ScriptedServer(ThreadingHTTPServer):
    """Answers requests for the page of a model.

    Attributes:
        predictions: the (signature, row) of each request so far.
        key: the API key that requests must have. None: none is required.
        answers_wait: requests for translations wait for this event.
        refused: {text: message}, for texts that get HTTP 400.

    Args:
        options: {input of `translate_with_options`: its default}.
        models: {name: languages such as "en-de", or None}.
    """

    def __init__(self, options, models):
        super().__init__(("127.0.0.1", 0), Handler)
        self.options, self.predictions, self.refused = options, [], {}
        self.refused_words, self.key, self.addresses = None, None, []
        self.answers_wait = threading.Event()
        self.answers_wait.set()
        languages = {name: pair and Languages.parse(pair) for name, pair in models.items()}
        self.page = page([*languages.items()])

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def metadata(self):
        n_best = {"tensor_shape": {"dim": [{"size": "-1"}, {"size": str(len(ENDINGS))}]}}
        signatures = {
            "attention": {},
            "translate_n_best": {"inputs": {}, "outputs": {"translations": n_best}},
            "translate_with_options": {
                "inputs": {"text": {}} | {name: {} for name in self.options},
                "defaults": self.options,
            },
        }
        return {
            "model_spec": {"version": "1"},
            "metadata": {"signature_def": {"signature_def": signatures}},
        }

    def prediction(self, signature, row):
        if signature == "attention":
            return attention(row)
        text, count = row["text"], row.get("n_best", len(ENDINGS))
        best = row.get("prefix", "") + " ".join(
            "\n" if word == "\n" else WORDS.get(word, word)
            for word in text.replace("\n", " \n ").split(" ")
        ).replace(" \n ", "\n")
        found = [best + ending for ending in ENDINGS[:count]]
        missing = [""] * (len(ENDINGS) - count)
        scores = [-0.5 * n for n in range(1, count + 1)] + [NO_SCORE] * len(missing)
        answer = {"translations": found + missing, "scores": scores}
        if "confidence" in row or "alignments" in row:
            answer |= words(text, found, missing)
        return answer


def words(text, found, missing):
    """Returns the outputs about words; see `translate_with_options` of the server."""
    source, targets = text.split(), [each.split() for each in found]
    # The first two words are aligned crosswise, the others one by one; the last one is not aligned.
    pairs = ["0-1", "1-0", *(f"{n}-{n}" for n in range(2, len(source) - 1))]
    ratings = [[CONFIDENCE.get(word, 0.95) for word in target] for target in targets]
    return {
        "source_words": " ".join(source),
        "words": [" ".join(each) for each in targets] + missing,
        "alignments": [" ".join(pairs)] * len(found) + missing,
        "confidence": [" ".join(f"{x:.4f}" for x in each) for each in ratings] + missing,
    }


def attention(row):
    source, target = ([*("▁" + word for word in text.split()), "</s>"] for text in row.values())

    def even(queries, keys):
        return [[[[1 / len(keys)] * len(keys)] * len(queries)]]

    return {
        "source_pieces": source,
        "target_pieces": target,
        "encoder": even(source, source),
        "decoder": even(target, target),
        "cross": even(target, source),
    }


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def answer(self, body, status=200, content_type="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body.encode())

    def do_GET(self):
        self.server.addresses.append(self.path)
        if self.path == "/":
            self.answer(self.server.page, content_type="text/html; charset=utf-8")
        elif self.path == "/frontend/settings":
            self.answer(json.dumps({"keyRequired": self.server.key is not None}))
        elif self.has_key():
            self.answer(json.dumps(self.server.metadata()))

    def has_key(self):
        """Returns whether a request has the key that is required; answers it if not."""
        if self.server.key in (None, self.headers["X-API-Key"]):
            return True
        self.answer(json.dumps({"error": "This server needs an API key"}), 401)
        return False

    def do_POST(self):
        self.server.addresses.append(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.has_key():
            return
        signature, (row,) = body["signature_name"], body["instances"]
        self.server.predictions.append((signature, row))
        if "confidence" not in row:
            self.server.answers_wait.wait(30)
        message = self.server.refused.get(row["text"])
        if "confidence" in row:
            message = message or self.server.refused_words
        if message:
            self.answer(json.dumps({"error": message}), 400)
        else:
            self.answer(json.dumps({"predictions": [self.server.prediction(signature, row)]}))


@contextlib.contextmanager
def scripted(options, **models):
    """Runs a `ScriptedServer` in a thread."""
    with ScriptedServer(options, models) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        try:
            yield server
        finally:
            server.answers_wait.set()
            server.shutdown()
