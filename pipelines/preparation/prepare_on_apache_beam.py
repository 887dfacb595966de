"""The steps of a preparation on Apache Beam, for corpora that are too large for one machine.

Cleaning and encoding run on any Beam runner (extra `beam`). All workers must have access to the
output folder. The vocabulary is learned on the machine that starts the pipeline. `prepare` writes
the same store without Beam, byte for byte, and can resume a preparation either way.
"""

import itertools
import pickle

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines.text import cleaned_text
from pipelines.text.cleaning import fingerprint, judged


class OnApacheBeam:
    """Runs the steps of `prepare` on Apache Beam: its argument `steps`.

    Args:
        options: Beam options, such as ["--runner=FlinkRunner"]. If there are none, Beam's local
            runner is used.
        load_plugins: function without arguments that loads the plug-in files in a worker, or None.
    """

    def __init__(self, options=(), load_plugins=None):
        self.options, self.load_plugins = PipelineOptions(list(options)), load_plugins

    def clean(self, source, folder, cleaning):
        """Copies the pairs to chunks in the folder, cleans each and writes it as a part.

        Duplicates may be in different chunks, and only the first pair with a given fingerprint is
        kept. So a first pass over all chunks finds the positions of the pairs to keep.
        """
        chunks, pairs, load_plugins = [], iter(source), self.load_plugins
        columns = [*getattr(source, "kinds", ())]
        while chunk := list(itertools.islice(pairs, cleaned_text.PART)):
            chunks.append(folder / f"chunk-{len(chunks):06}")
            chunks[-1].write_bytes(pickle.dumps(chunk))

        def verdicts(index, chunk):
            if load_plugins is not None:
                load_plugins()
            pairs = pickle.loads(chunk.read_bytes())
            return enumerate(judged(pairs, cleaning, 1 + index * cleaned_text.PART))

        def fingerprints(index, chunk):
            for position, each in verdicts(index, chunk):
                if not each.rule:
                    place = index, position
                    yield fingerprint(each.texts) if cleaning.config.duplicates else place, place

        def write(index, group):
            first = set(group["first"])
            found = verdicts(index, *group["chunk"])
            kept = (each.unless(at not in first) for at, each in found)
            cleaned_text.write_part(kept, folder, index, columns)

        with beam.Pipeline(options=self.options) as pipeline:
            indexed = pipeline | beam.Create(list(enumerate(chunks))) | beam.Reshuffle()
            first = (
                indexed
                | beam.FlatMapTuple(fingerprints)
                | beam.CombinePerKey(min)
                | beam.Values()  # (chunk index, position)
            )
            both = {"chunk": indexed, "first": first} | beam.CoGroupByKey()
            both | beam.MapTuple(write)
        for chunk in chunks:
            chunk.unlink()

    def encode(self, parts, encode_part):
        """Calls a function for every part of the cleaned text."""
        with beam.Pipeline(options=self.options) as pipeline:
            pipeline | beam.Create(parts) | beam.Reshuffle() | beam.Map(encode_part)
