"""Translation of files, as in LibreTranslate: POST /translate_file, GET /download_file/NAME."""

import secrets
import time
from pathlib import PurePosixPath
from urllib.parse import quote

from aiohttp import web

from t2t_keras.serving.limits import Refusal
from t2t_keras.translating.documents import Options, read_document

KEPT_SECONDS = 1800  # time after which a translated file is deleted
MOST_BYTES = 2**26  # maximum size of all translated files that are kept
AT_ONCE = 100  # segments of a file that are translated together


class Files:
    """Files that an `Answering` has translated, in memory until they are old."""

    def __init__(self, answering):
        self.answering, self.limits, self.kept = answering, answering.limits, {}

    async def translated(self, name, data, source, target, connection):
        """Translates a file and returns the name under which it is kept."""
        arguments = PurePosixPath(name), data, Options(source or "", target)
        document = await self.answering.run(connection.client, False, read_document, *arguments)
        if len(document.units) > self.limits.max_segments:
            raise Refusal(
                413,
                f"{name} has {len(document.units):,} segments; at most "
                f"{self.limits.max_segments:,} are allowed (--max_segments of the server)",
            )
        found = []
        for first in range(0, len(document.units), AT_ONCE):
            rows = [unit._asdict() for unit in document.units[first : first + AT_ONCE]]
            results, source, _ = await self.answering.translate(rows, source, target, connection)
            found += [best.text for best, *_ in results]
        written = await self.answering.run(connection.client, False, document.write, found)
        return self.keep(name, written)

    def keep(self, name, data):
        """Keeps a file, and deletes old ones; returns its new name."""
        now = time.monotonic()
        for old, (since, _) in [*self.kept.items()]:
            size = sum(len(each) for _, each in self.kept.values())
            if since + KEPT_SECONDS < now or size + len(data) > MOST_BYTES:
                del self.kept[old]
        kept = f"{secrets.token_hex(16)}.{PurePosixPath(name).name}"
        self.kept[kept] = now, data
        return kept

    async def download(self, request):
        name = request.match_info["file"]
        if name not in self.kept:
            raise Refusal(404, "There is no such file. Files are kept for 30 minutes")
        disposition = f"attachment; filename*=UTF-8''{quote(name.partition('.')[2])}"
        return web.Response(
            body=self.kept[name][1],
            content_type="application/octet-stream",
            headers={"Content-Disposition": disposition},
        )
