"""Translates files in an Apache Beam pipeline, for more text than one machine can handle.

    OUTPUT/NAME                               translation of the input file NAME, once complete
    OUTPUT/.t2t-translate/NAME/DIGEST         outputs of its blocks; see `BlockFile`
    OUTPUT/.t2t-translate/NAME/complete       digest of the command and the input, once complete

The pipeline runs on any Beam runner (extra `beam`) and translates with an export. All workers must
share the input, export and output folders. The machine that starts the pipeline divides the files
into blocks of lines, and joins the outputs of a file as soon as all of its blocks are translated.
Any process may die at any time, and Beam may have the same block translated twice.
"""

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import apache_beam as beam
from apache_beam.ml.inference.base import ModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.atomic_files import write_text
from pipelines.progress import Progress
from pipelines.text.opened_text import opened
from t2t_keras.runs.block_file import BlockFile, appearing
from t2t_keras.runs.text_files import line_text
from t2t_keras.translating.exports import load_translator
from t2t_keras.translating.request import TextError

PROGRESS = ".t2t-translate"  # hidden, so that patterns such as OUTPUT/* do not match it
POLL = 5.0  # seconds between two checks of the outputs


class LineBlock(NamedTuple):
    """Consecutive lines of an input file."""

    source: Path
    first: int  # index of the first line
    byte: int  # its offset in the uncompressed file
    lines: int  # number of lines; the last block of a file may have fewer
    output: Path  # path of the block's output

    def read(self):
        """Returns the lines in bytes, with their line breaks."""
        with opened(self.source) as file:
            file.seek(self.byte)
            return list(itertools.islice(file, self.lines))

    def write(self, output):
        with appearing(self.output, self.output.parent) as file:
            file.write(output)


class TranslatedFile(BlockFile):
    """An input file and its translation; in the command, `lines` is the number in a block."""

    def __init__(self, source, path, command):
        super().__init__(path, path.parent / PROGRESS / path.name, command)
        self.blocks, byte, lines = [], 0, command["lines"]
        with opened(source) as file:
            while block := b"".join(itertools.islice(file, lines)):
                first = len(self.blocks) * lines
                self.blocks.append(LineBlock(source, first, byte, lines, self.add(block)))
                byte += len(block)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.record = self.folder / "complete"
        found = self.record.read_text() if self.record.exists() else self.digest
        if found != self.digest:
            reason = "is from a different command or a different input. Translating it again"
            print(f"{path} {reason}", file=sys.stderr, flush=True)
        self.is_complete = path.is_file() and self.record.exists() and found == self.digest
        if self.is_complete:
            self.parts.clear()  # left by a process that was killed after joining them
        else:
            self.record.unlink(missing_ok=True)
        self.delete_others()
        self.join_if_complete()

    def missing(self):
        """Returns the blocks without output."""
        if self.is_complete:
            return []
        names = {path.name for path in self.folder.iterdir()}
        return [block for block in self.blocks if block.output.name not in names]

    def join_if_complete(self):
        """If no block is missing, writes the translation and deletes the blocks' outputs."""
        if self.is_complete or self.missing():
            return
        self.join()
        write_text(self.record, self.digest)
        self.is_complete = True
        self.parts.clear()
        self.delete_others()


def translate_with_beam(files, handler, options=()):
    """Translates `TranslatedFile`s with an `ExportHandler`; without options, on Beam's runner."""
    blocks = [block for file in files for block in file.missing()]
    if not blocks:
        return
    options = PipelineOptions([*options])
    with (
        Progress("translating", len(blocks), "blocks") as progress,
        ThreadPoolExecutor(1) as thread,
    ):
        pipeline = thread.submit(translate_blocks, blocks, handler, options)
        while not wait([pipeline], POLL).done:
            progress.to(len(blocks) - join(files))
        join(files)
        try:
            pipeline.result()
        except RuntimeError as error:  # from Beam; includes the type and text of a worker's error
            raise ValueError(
                f"the Apache Beam pipeline failed: {error}. Run the same command to resume. "
                "--verbosity=1 shows the pipeline's messages"
            ) from error
        progress.to(len(blocks))


def join(files):
    """Joins all files whose blocks are complete. Returns the number of missing blocks."""
    for file in files:
        file.join_if_complete()
    return sum(len(file.missing()) for file in files)


def translate_blocks(blocks, handler, options):
    with beam.Pipeline(options=options) as pipeline:
        (
            pipeline
            | beam.Create(blocks)
            | beam.Reshuffle()
            | "read" >> beam.Map(lambda block: (block, block.read()))
            | "translate" >> RunInference(handler)
            | "write" >> beam.MapTuple(lambda block, output: block.write(output))
        )


class ExportHandler(ModelHandler):
    """Loads an export once per worker process and translates blocks with it.

    Args:
        folder: absolute path of the export, a SavedModel or a LiteRT model.
        options: fields of the `Request` of every line.
        formatted: function of (texts, the `Translation`s of each) that returns the output in bytes.
    """

    def __init__(self, folder, to, options, formatted):
        # A batch is one block. Its lines are batched as in t2t-translate, for equal results.
        super().__init__(min_batch_size=1, max_batch_size=1)
        self.folder, self.to = folder, to
        self.options, self.formatted = options, formatted

    def load_model(self):
        return load_translator(self.folder, self.to)

    def run_inference(self, batch, model, inference_args=None):
        """Yields each `LineBlock` with its output, given pairs of one and its lines."""
        for block, lines in batch:
            texts = [line_text(line, index) for index, line in enumerate(lines, block.first)]
            try:
                results = model.translations(texts, first_index=block.first, **self.options)
            except TextError as error:
                line = block.first + error.index + 1
                raise ValueError(f"{block.source}, line {line:,}: {error}") from error
            yield block, self.formatted(texts, results)
