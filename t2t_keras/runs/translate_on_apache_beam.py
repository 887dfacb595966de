"""Translates in an Apache Beam pipeline, for more text than one machine can handle.

The pipeline runs on any Beam runner (extra `beam`) and translates with an export. All workers must
share the input, export and output folders. The machine that starts the pipeline divides the files
into blocks of lines, and joins the outputs of a file as soon as all of its blocks are translated.
"""

from concurrent.futures import ThreadPoolExecutor, wait

import apache_beam as beam
from apache_beam.ml.inference.base import ModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.progress import Progress
from t2t_keras.runs.text_files import line_text
from t2t_keras.translating.exports import load_translator
from t2t_keras.translating.request import TextError

POLL = 5.0  # seconds between two checks of the outputs


def translate_with_beam(files, handler, options=()):
    """Translates files and joins the outputs of their blocks.

    Args:
        files: `TranslatedFile`s after `begin`.
        handler: an `ExportHandler`.
        options: Beam options, such as ["--runner=FlinkRunner"]. None or empty: Beam's local runner.
    """
    blocks = [block for file in files for block in file.missing()]
    if not blocks:
        return
    options = PipelineOptions(list(options or ()))
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
        file.join()
    return sum(len(file.missing()) for file in files)


def translate_blocks(blocks, handler, options):
    """Translates blocks of lines and writes their outputs."""
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
        to: see `Translator`.
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
        """Yields each block of the batch with its output.

        Args:
            batch: pairs of a `Block` and its lines.
            model: a `Translator`.
            inference_args: ignored; Beam passes it to every handler.
        """
        for block, lines in batch:
            texts = [line_text(line, index) for index, line in enumerate(lines, block.first)]
            try:
                results = model.translations(texts, first_index=block.first, **self.options)
            except TextError as error:
                line = block.first + error.index + 1
                raise ValueError(f"{block.source}, line {line:,}: {error}") from error
            yield block, self.formatted(texts, results)
