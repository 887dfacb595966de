"""The newest version that works answers, and the folder is watched for changes."""

import asyncio
import concurrent.futures
import functools
import threading

import pytest
from support.serving.in_process_server import serving_sources
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import get, metric, predict, until

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.serving import versions as module
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.versions import ModelSource, Versions
from t2t_keras.translating.exports import versions_in


def loaded(folder, **attributes):
    """Returns an engine; a folder with a file named "broken" cannot be loaded."""
    if (folder / "broken").exists():
        raise OSError("no model in there")
    return EchoEngine(**attributes)


def versions_of(folder, load=loaded, **options):
    return Versions(source_of(folder, load, **options), Metrics())


def source_of(folder, load, **options):
    return ModelSource("m", functools.partial(versions_in, folder), load, **options)


def add(folder, *numbers, broken=False):
    for number in numbers:
        (folder / str(number)).mkdir()
        if broken:
            (folder / str(number) / "broken").touch()


def states(status):
    return {each["version"]: each["state"] for each in status["model_version_status"]}


def test_a_changed_glossary_counts_as_a_changed_version(tmp_path):
    glossary, read = tmp_path / "terms.tsv", []
    add(tmp_path, 1)
    glossary.write_text("dog\tHund\n")

    def load(folder):
        read.append(glossary.read_text())
        return loaded(folder)

    async def serve():
        versions = versions_of(tmp_path, load, glossary=glossary)
        await versions.update()
        glossary.write_text("dog\tHündchen\n")
        for _ in range(3):  # a change is noticed, seen to have ended, and then loaded once
            await versions.update()
        return versions.current.model.glossary.targets

    assert [*asyncio.run(serve()).values()] == ["Hündchen"]
    assert read == ["dog\tHund\n", "dog\tHündchen\n"]


def test_the_newest_version_that_can_be_loaded_answers(tmp_path):
    add(tmp_path, 9, 10)
    add(tmp_path, 11, broken=True)
    versions = versions_of(tmp_path)
    with pytest.raises(Refusal, match="'m' is still loading") as error:
        versions.find()
    assert error.value.status == 503
    asyncio.run(versions.update())
    assert versions.find().number == versions.find(10).number == 10
    message = "Version 9 of model 'm' is not loaded. Available: 10"
    with pytest.raises(Refusal, match=message) as error:
        versions.find(9)
    assert error.value.status == 404
    assert [*states(versions.status()).items()] == [("11", "END"), ("10", "AVAILABLE")]
    (broken,) = versions.status(11)["model_version_status"]
    reason = "Loading failed; the server's log has the reason"
    assert broken["status"] == {"error_code": "UNKNOWN", "error_message": reason}


def test_without_a_version_that_works_starting_fails(tmp_path):
    with pytest.raises(ValueError, match="no longer has a version"):
        asyncio.run(versions_of(tmp_path).update())
    add(tmp_path, 1, 2, broken=True)
    versions = versions_of(tmp_path)
    with pytest.raises(ValueError, match="2 cannot be served: no model in there"):
        asyncio.run(versions.update())
    with pytest.raises(Refusal, match="'m' cannot be loaded; the server's log has the reason"):
        versions.find()


def test_an_old_version_is_unloaded_after_its_last_request(tmp_path):
    add(tmp_path, 1)
    versions = versions_of(tmp_path)

    async def replace():
        await versions.update()
        with versions.find().in_use() as old:
            add(tmp_path, 2)
            await versions.switch_to(2, tmp_path / "2")
            assert (old.state, old.model is None) == ("UNLOADING", False)
        assert (old.state, old.model is None) == ("END", True)

    asyncio.run(replace())
    assert versions.find().number == 2


@pytest.fixture
def watched(tmp_path):
    """Versions in a folder with version 1; a function that starts them and then checks them."""
    versions, tries = versions_of(tmp_path), []
    add(tmp_path, 1)

    def load(folder):
        tries.append(int(folder.name))
        return loaded(folder)

    def run(steps):
        """Starts the versions, runs a coroutine of `check`, and returns the loaded versions.

        `check` looks at the folder and returns the number of the version that is served.
        """

        async def check(times=2):  # files are loaded if they are the same twice
            for _ in range(times):
                await versions.update()
            return versions.current.number

        async def whole():
            await versions.update()
            await steps(check)

        asyncio.run(whole())
        return tries

    versions.source = versions.source._replace(load=load)
    return versions, run


def test_a_version_is_loaded_again_if_a_newer_one_is_removed_or_its_files_change(tmp_path, watched):
    versions, run = watched
    add(tmp_path, 5)

    async def steps(check):
        (tmp_path / "5").rmdir()
        assert await check() == 1
        (tmp_path / "1").rmdir()
        assert await check() == 1, "it stays in memory"
        add(tmp_path, 1)
        (tmp_path / "1" / "model").touch()
        first = versions.current
        assert await check() == 1
        assert (first.state, versions.current.state) == ("END", "AVAILABLE")
        (tmp_path / "1" / "broken").touch()
        assert await check() == 1
        assert states(versions.status()) == {"5": "END", "1": "AVAILABLE"}

    assert run(steps) == [5, 1, 1, 1]


def test_a_version_that_is_still_being_copied_is_loaded_when_it_is_complete(tmp_path, watched):
    _, run = watched

    async def steps(check):
        add(tmp_path, 2, broken=True)
        assert await check() == 1
        for size in range(1, 4):
            (tmp_path / "2" / "data").write_text("x" * size)
            assert await check(1) == 1, "it is not loaded while it grows"
        (tmp_path / "2" / "broken").unlink()
        assert await check() == 2

    assert run(steps) == [1, 2, 2]


def test_a_broken_version_is_tried_again_after_a_minute(tmp_path, watched, monkeypatch):
    versions, run = watched
    add(tmp_path, 2, broken=True)

    async def steps(check):
        for _ in range(3):
            await check()
        loop = asyncio.get_running_loop()
        again = loop.time() + module.RETRY_SECONDS
        monkeypatch.setattr(loop, "time", lambda: again)
        await check()
        monkeypatch.undo()

    assert run(steps) == [2, 1, 2]
    assert versions.current.number == 1


def test_a_new_version_replaces_the_old_one_under_load_and_no_request_fails(tmp_path, monkeypatch):
    """A version's number is the α of its search, and so the score of its translations."""
    monkeypatch.setattr(module, "POLL_SECONDS", 0.02)
    add(tmp_path, 1)

    def load(folder):
        return EchoEngine(config=SearchConfig(alpha=int(folder.name)))

    with serving_sources([source_of(tmp_path, load)]) as address:
        done, seen = threading.Event(), []

        def client():
            while not done.is_set():
                status, answer = predict(address, {"inputs": ["a", "b"]}, "v1/models/m:predict")
                assert status == 200, answer
                (score,) = {*answer["outputs"]["scores"]}  # one version answers a request
                seen.append(score)

        with concurrent.futures.ThreadPoolExecutor(3) as clients:
            requests = [clients.submit(client) for _ in range(3)]
            try:
                until(lambda: -1 in seen)
                add(tmp_path, 2)
                until(lambda: -2 in seen)
                until(lambda: states(get(address, "v1/models/m")[1])["1"] == "END")
            finally:
                done.set()
            assert [request.result() for request in requests] == [None] * 3
        assert metric(address, 't2t_model_version{model="m"}') == 2
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/2:predict")[0] == 200
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/1:predict")[0] == 404
