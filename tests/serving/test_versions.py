"""The newest version that works answers, and the folder is watched for changes."""

import asyncio
import concurrent.futures
import shutil
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.serving.served_model import write_version
from support.serving.serving_client import get, metric, predict, served, until

from t2t_keras.decoding.shapes_to_compile import PAYS_AFTER, CompiledShapes, Shape
from t2t_keras.serving import versions as module
from t2t_keras.serving.batching import Workers
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.versions import Versions

COMPILED, TO_COMPILE = "t2t_compiled_shapes", "t2t_shapes_to_compile"


class FakeModel:
    """A model without signatures; a folder with a file named "broken" cannot be loaded."""

    translations = engine = None

    def __init__(self, folder, shapes=None):
        self.signatures, self.shapes = {}, shapes
        if (folder / "broken").exists():
            raise OSError("no model in there")

    def warm_up(self):
        pass


def versions_of(folder):
    return Versions("m", folder, Workers(Limits(), Metrics()), load=FakeModel)


def add(folder, *numbers, broken=False):
    for number in numbers:
        (folder / str(number)).mkdir()
        if broken:
            (folder / str(number) / "broken").touch()


@pytest.mark.long
def test_shapes_are_compiled_after_the_version_serves_and_the_metrics_say_how_far(tmp_path):
    add(tmp_path, 1)
    versions, steps, may_go_on = versions_of(tmp_path), [], threading.Event()

    def value(name):
        return versions.workers.metrics.registry.get_sample_value(name, {"model": "m"})

    def compile_shape(shape):
        steps.append((versions.current.number, value(COMPILED), value(TO_COMPILE), shape))
        return may_go_on.wait(10)

    shapes = CompiledShapes(compile_shape, in_background=True)
    shapes.expect({Shape(1, 32): PAYS_AFTER, Shape(1, 16): 2 * PAYS_AFTER})
    versions.load = lambda folder: FakeModel(folder, shapes)
    asyncio.run(versions.start())
    may_go_on.set()
    until(lambda: value(TO_COMPILE) == 0 and value(COMPILED) == 2)
    assert steps == [(1, 0, 2, (1, 16)), (1, 1, 1, (1, 32))]
    shapes.add_seconds(Shape(4, 16), 100.0)
    until(lambda: value(COMPILED) == 3)
    versions.current.retire()


@pytest.mark.long
def test_a_new_version_compiles_what_requests_needed_before(tmp_path):
    add(tmp_path, 1, 2)
    versions, compiled = versions_of(tmp_path), []
    models = []

    def load(folder):
        models.append(FakeModel(folder, CompiledShapes(compiled.append, in_background=True)))
        return models[-1]

    async def replace():
        await versions.switch_to(1, tmp_path / "1")
        models[0].shapes.add_seconds(Shape(4, 16), 100.0)
        until(lambda: len(compiled) == 1)
        await versions.switch_to(2, tmp_path / "2")

    versions.load = load
    asyncio.run(replace())
    until(lambda: models[1].shapes.ready)
    assert compiled == [(4, 16), (4, 16)]
    versions.current.retire()


def test_a_changed_glossary_counts_as_a_changed_version(tmp_path):
    glossary, read = tmp_path / "terms.tsv", []
    add(tmp_path, 1)
    glossary.write_text("dog\tHund\n")

    def load(folder):
        model = FakeModel(folder)
        read_it = SimpleNamespace(use_glossary=lambda path: read.append(path.read_text()))
        model.translations = SimpleNamespace(signatures={}, **vars(read_it))
        return model

    async def serve():
        versions = Versions("m", tmp_path, Workers(Limits(), Metrics()), load, glossary=glossary)
        await versions.start()
        for text in ("dog\tHündchen\n", None):
            glossary.write_text(text) if text else glossary.unlink()
            for _ in range(3):  # a change is noticed, seen to have ended, and then loaded once
                await versions.check_folder()

    asyncio.run(serve())
    assert read == ["dog\tHund\n", "dog\tHündchen\n"], "and a missing file changes nothing"


def states(status):
    return {each["version"]: each["state"] for each in status["model_version_status"]}


def test_the_newest_version_that_can_be_loaded_answers(tmp_path):
    add(tmp_path, 9, 10)
    add(tmp_path, 11, broken=True)
    versions = versions_of(tmp_path)
    asyncio.run(versions.start())
    assert versions.find().number == 10
    assert states(versions.status()) == {"11": "END", "10": "AVAILABLE"}
    status = versions.status(11)["model_version_status"][0]["status"]
    assert status == {
        "error_code": "UNKNOWN",
        "error_message": "Loading failed; the server's log has the reason",
    }


def test_without_a_version_that_works_starting_fails(tmp_path):
    with pytest.raises(ValueError, match="no longer contains a version"):
        asyncio.run(versions_of(tmp_path).start())
    add(tmp_path, 1, 2, broken=True)
    with pytest.raises(ValueError, match="2 cannot be served: no model in there"):
        asyncio.run(versions_of(tmp_path).start())


def test_an_old_version_is_unloaded_after_its_last_request(tmp_path):
    add(tmp_path, 1)
    versions = versions_of(tmp_path)

    async def replace():
        await versions.start()
        with versions.find().in_use() as old:
            add(tmp_path, 2)
            await versions.switch_to(2, tmp_path / "2")
            assert (old.state, old.model is None) == ("UNLOADING", False)
        assert (old.state, old.model is None) == ("END", True)

    asyncio.run(replace())
    assert versions.find().number == 2


@pytest.fixture
def watched(tmp_path):
    """Versions that record which are loaded; a function that starts them and then checks them."""
    versions, tries = versions_of(tmp_path), []

    def load(folder):
        tries.append(int(folder.name))
        return FakeModel(folder)

    def run(steps):
        """Starts the versions and runs a coroutine of `check`, which looks at the folder."""

        async def check(times=2):  # files are loaded if they are the same twice
            for _ in range(times):
                await versions.check_folder()
            return versions.current.number

        async def whole():
            await versions.start()
            await steps(check)

        asyncio.run(whole())
        return tries

    versions.load = load
    return versions, run


def test_the_version_before_returns_if_the_newest_is_removed(tmp_path, watched):
    add(tmp_path, 1, 5)

    async def steps(check):
        (tmp_path / "5").rmdir()
        assert await check() == 1
        add(tmp_path, 5)
        assert await check() == 5

    assert watched[1](steps) == [5, 1, 5]


def test_the_only_version_is_loaded_again_if_it_was_removed_and_written_anew(tmp_path, watched):
    versions, run = watched
    add(tmp_path, 1)
    (tmp_path / "1" / "model").write_text("old")

    async def steps(check):
        shutil.rmtree(tmp_path / "1")
        assert await check() == 1, "it stays in memory"
        add(tmp_path, 1)
        (tmp_path / "1" / "model").write_text("new one")
        first = versions.current
        assert await check() == 1
        assert (first.state, versions.current.state) == ("END", "AVAILABLE")
        assert states(versions.status()) == {"1": "AVAILABLE"}

    assert run(steps) == [1, 1]


def test_a_version_that_is_still_being_copied_is_loaded_when_it_is_complete(tmp_path, watched):
    versions, run = watched
    add(tmp_path, 1)

    async def steps(check):
        add(tmp_path, 2, broken=True)
        assert await check() == 1
        for size in range(1, 9):
            (tmp_path / "2" / "data").write_text("x" * size)
            assert await check(1) == 1, "it is not loaded while it grows"
        (tmp_path / "2" / "broken").unlink()
        assert await check() == 2

    assert run(steps) == [1, 2, 2]
    assert not versions.failures


def test_a_broken_version_is_tried_again_less_and_less_often(tmp_path, watched, monkeypatch):
    versions, run = watched
    add(tmp_path, 1)
    add(tmp_path, 2, broken=True)

    async def steps(check):
        loop = asyncio.get_running_loop()
        waits, real = [], loop.time
        for _ in range(9):
            await check()
            failure = versions.failures[2]
            waits.append(failure.wait)
            monkeypatch.setattr(loop, "time", lambda again=failure.again: again)
        assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300]
        monkeypatch.setattr(loop, "time", real)

    assert run(steps) == [2, 1, *[2] * 8]
    assert versions.current.number == 1


def test_a_version_that_breaks_while_it_is_served_stays_in_memory(tmp_path, watched):
    versions, run = watched
    add(tmp_path, 1, 2)

    async def steps(check):
        (tmp_path / "2" / "broken").touch()
        assert await check() == 2
        assert states(versions.status()) == {"2": "AVAILABLE"}

    assert run(steps) == [2, 2]


def test_requests_for_other_versions_are_refused(tmp_path):
    add(tmp_path, 3)
    versions = versions_of(tmp_path)
    assert versions.is_starting
    with pytest.raises(Refusal, match="'m' is still loading") as error:
        versions.find()
    assert error.value.status == 503
    asyncio.run(versions.start())
    message = "Version 7 of model 'm' is not loaded. Available: 3"
    with pytest.raises(Refusal, match=message) as error:
        versions.find(7)
    assert error.value.status == 404


@pytest.mark.long
def test_a_new_version_replaces_the_old_one_under_load_and_no_request_fails(tmp_path):
    export = tmp_path / "export"
    export.mkdir()
    write_version(export, 1, signatures=["serving_default"])
    with served(export, "--name=m") as (process, address):
        path, done, marks_seen = "v1/models/m:predict", [], [[] for _ in range(3)]

        def client(index):
            while not done:
                status, answer = predict(address, {"inputs": [f"{index} a", "b c"]}, path)
                assert status == 200, answer
                marks = {text.partition(" ")[0] for text in answer["outputs"]["translations"]}
                assert len(marks) == 1, "one request is answered by one version"
                marks_seen[index] += marks - set(marks_seen[index][-1:])
                time.sleep(0.05)

        with concurrent.futures.ThreadPoolExecutor(3) as clients:
            requests = [clients.submit(client, index) for index in range(3)]
            try:
                (export / "9").mkdir()  # not a model
                write_version(export, 2, signatures=["serving_default"])
                final = {"9": "END", "2": "AVAILABLE", "1": "END"}
                until(lambda: states(get(address, "v1/models/m")[1]) == final)
                until(lambda: marks_seen == [["v1:", "v2:"]] * 3)
            finally:
                done.append(True)
            assert [request.result() for request in requests] == [None] * 3
        assert metric(address, 't2t_model_version{model="m"}') == 2
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/2:predict")[0] == 200
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/1:predict")[0] == 404
        assert "Version 9 of m cannot be loaded" in process.errors()


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no malloc_trim")
def test_free_memory_is_returned_to_the_system():
    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096

    blocks = [bytes(1000) for _ in range(400_000)]
    blocks = blocks[-1:]  # keeps the C library from returning the others by itself
    before = resident()
    module.return_free_memory()
    assert before - resident() > 50_000_000
