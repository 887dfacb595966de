"""The newest version that works answers, and the folder is watched for changes."""

import asyncio
import concurrent.futures
import time

import pytest
from served_model import write_version
from serving_client import get, metric, predict, served, until

from t2t_keras.serving import versions as module
from t2t_keras.serving.batching import Workers
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.metrics import Metrics
from t2t_keras.serving.versions import Versions


class FakeModel:
    """A model without signatures; a folder with a file named "broken" cannot be loaded."""

    def __init__(self, folder):
        self.signatures = {}
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


def states(status):
    return {each["version"]: each["state"] for each in status["model_version_status"]}


def test_the_newest_version_that_can_be_loaded_answers(tmp_path):
    add(tmp_path, 9, 10)
    add(tmp_path, 11, broken=True)
    versions = versions_of(tmp_path)
    asyncio.run(versions.start())
    assert versions.find("m").number == 10
    assert states(versions.status("m")) == {"11": "END", "10": "AVAILABLE"}
    status = versions.status("m", 11)["model_version_status"][0]["status"]
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
        with versions.find("m").in_use() as old:
            add(tmp_path, 2)
            await versions.switch_to(2, tmp_path / "2")
            assert (old.state, old.model is None) == ("UNLOADING", False)
        assert (old.state, old.model is None) == ("END", True)

    asyncio.run(replace())
    assert versions.find("m").number == 2


def test_a_broken_version_is_tried_once_and_again_when_it_was_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    add(tmp_path, 1)
    versions, tries = versions_of(tmp_path), []

    def counting_load(folder):
        tries.append(folder.name)
        return FakeModel(folder)

    versions.load = counting_load

    async def watch():
        await versions.start()
        watching = asyncio.create_task(versions.watch())
        add(tmp_path, 5, broken=True)
        await asyncio.sleep(0.2)
        assert (tries, versions.current.number) == (["1", "5"], 1)
        (tmp_path / "5" / "broken").unlink()
        (tmp_path / "5").rmdir()
        await asyncio.sleep(0.1)
        add(tmp_path, 5)
        while versions.current.number != 5:
            await asyncio.sleep(0.01)
        (tmp_path / "5").rmdir()  # the version before it returns
        while versions.current.number != 1:
            await asyncio.sleep(0.01)
        watching.cancel()

    asyncio.run(asyncio.wait_for(watch(), 30))
    assert tries == ["1", "5", "5", "1"]


def test_requests_for_other_names_and_versions_are_refused(tmp_path):
    add(tmp_path, 3)
    versions = versions_of(tmp_path)
    with pytest.raises(Refusal, match="'m' is still loading") as error:
        versions.find("m")
    assert error.value.status == 503
    asyncio.run(versions.start())
    for arguments, message in (
        (("m", 7), "Version 7 of model 'm' is not loaded. Available: 3"),
        (("n",), "Unknown model 'n'. Available: 'm'"),
    ):
        with pytest.raises(Refusal, match=message) as error:
            versions.find(*arguments)
        assert error.value.status == 404


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
        assert metric(address, "t2t_model_version") == 2
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/2:predict")[0] == 200
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/1:predict")[0] == 404
        assert "Version 9 cannot be loaded" in process.errors()
