"""Error messages for failed requests to the Hugging Face Hub, one line each, with advice."""

import contextlib
import errno
import json
import re

from t2t_keras.importing.hub.cache import cache_of, cached_files, library

UNREADABLE = (json.JSONDecodeError, UnicodeError, RecursionError)
OTHER_CONTENTS = (TypeError, KeyError, AttributeError)
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def explained(address, revision, name=None):
    """Turns the errors of a request into a `ValueError` that says what to do.

    Args:
        address: the repository, as in "hf:ORG/NAME".
        revision: see `list_files`.
        name: name of the file, if one is downloaded.
    """
    errors, hub = library().errors, library().constants.ENDPOINT
    resumes = "Run the same command to resume the download" if name else ""
    login = "log in with `hf auth login`, or set HF_TOKEN"
    try:
        yield
    except errors.GatedRepoError as error:
        page = f"{hub}/{address.removeprefix('hf:')}"
        raise ValueError(
            f"{address} is gated: accept its conditions at {page}, and {login}"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ValueError(
            f"{address} has no revision {revision!r}: no branch, tag or commit of this name. "
            "Leave it out for the newest"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ValueError(
            f"{hub} has no model {address.removeprefix('hf:')}, or hides it. Check the name; if "
            f"it is private, {login}"
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise ValueError(f"{address} has no file {name} any more. Run the command again") from error
    except errors.OfflineModeIsEnabled as error:
        raise ValueError(
            f"HF_HUB_OFFLINE is set, and the cached copy of {address} is incomplete. Unset it to "
            "download the rest"
        ) from error
    except (errors.LocalEntryNotFoundError, errors.HTTPError) as error:  # HTTPError: of httpx
        response = getattr(error, "response", None)
        if isinstance(error, errors.HfHubHTTPError) and response is not None:
            raise ValueError(sentences(refusal(response, hub, login), resumes)) from error
        failure = f"no connection to {hub} ({first_line(error)})"
        advice = "Check the network, and HF_ENDPOINT and HTTPS_PROXY if they are set"
        hint = offline_hint(address, revision)
        raise ValueError(sentences(failure, advice, resumes, hint)) from error
    except OSError as error:
        if error.errno in FULL_DISK:
            failure = f"the disk of {cache_of(address.removeprefix('hf:')).parent} is full"
            advice = "Free some, or set HF_HOME to a folder on a larger disk"
            raise ValueError(sentences(failure, advice, resumes)) from error
        if error.errno is not None:
            raise
        # A download that ended early, or answers without the headers of the Hub.
        raise ValueError(sentences(f"{address}: {first_line(error)}", resumes)) from error
    except (*UNREADABLE, *OTHER_CONTENTS) as error:
        raise ValueError(
            f"{hub} did not answer as a Hugging Face Hub does. Check HF_ENDPOINT if it is set"
        ) from error


def refusal(response, hub, login):
    """Returns the reason for a status that is none of the Hub's own errors, without a period."""
    status = response.status_code
    if status in (401, 403):
        return f"{hub} refused the access ({status}): {login} of an account that may read it"
    if status == 429:
        seconds = response.headers.get("Retry-After", "")
        wait = f"{seconds} seconds" if seconds.isdecimal() else "some minutes"
        return f"{hub} received too many requests from here (429). Wait {wait}, or {login}"
    if status >= 500:
        return f"{hub} is out of order at the moment ({status}). Try again later"
    return f"{hub} answered with the unexpected status {status}. Check HF_ENDPOINT if it is set"


def sentences(*parts):
    return ". ".join(filter(None, parts))


def offline_hint(address, revision):
    """Returns a sentence about a cached copy of a repository; "" if there is none."""
    try:
        cached_files(address.removeprefix("hf:"), revision)
    except ValueError:
        return ""
    return "HF_HUB_OFFLINE=1 uses the copy in the cache"


def first_line(error):
    """Returns the first sentence of an error, without the address of a file."""
    line = (str(error).strip() or type(error).__name__).split("\n")[0]
    return re.sub(r"https?://[\w.]\S*", "the file", line).rstrip(". ")
