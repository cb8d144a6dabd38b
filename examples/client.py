#!/usr/bin/env python3
"""Use a daemon over HTTP, in Python: list the connections, verify three words, stamp a file.

Needs Python 3.11.

    echo 'matador carload recede' | examples/client.py invoice.pdf

COUNTERSIGN_TOKEN: a token of scope write; without it, one is created for ten minutes.
SVC_HTTP_BIND and SVC_HTTP_PORT: the daemon's address and port, if they differ from the defaults.
COUNTERSIGN_URL: its whole base URL, in place of both.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def base_url():
    """Return the daemon's URL.

    An empty variable counts as unset; an IPv6 address needs brackets in a URL.
    """
    bind = os.environ.get("SVC_HTTP_BIND") or "127.0.0.1"
    port = os.environ.get("SVC_HTTP_PORT") or "19821"
    host = f"[{bind}]" if ":" in bind else bind
    return os.environ.get("COUNTERSIGN_URL") or f"http://{host}:{port}"


URL = base_url()
# The daemon runs on this machine, so the proxy of the environment is not used.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Refused(Exception):
    """An error that the daemon returned. Its message names the remedy."""


def ask(method, path, token=None, body=None):
    """Send a request to the daemon; return the parsed response."""
    request = urllib.request.Request(URL + path, method=method)
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    try:
        with OPENER.open(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Refused(json.load(error)["message"]) from error
    except (urllib.error.URLError, ValueError) as error:
        raise Refused(f'No daemon answers at {URL}: start one with "countersignd serve".') from error


def new_token():
    """Return a token that is valid for ten minutes."""
    body = {"name": "example", "scope": "write", "expires_in": 600}
    return ask("POST", "/api/v1/token", body=body)["token"]


def connections(token):
    """Yield all connections, page by page."""
    path = "/api/v1/connections"
    query = ""
    while query is not None:
        page = ask("GET", path + query, token)
        yield from page["items"]
        cursor = page["next_cursor"]
        query = None if cursor is None else "?" + urllib.parse.urlencode({"cursor": cursor})


def main(arguments):
    if len(arguments) != 1:
        raise Refused("Name a file to stamp, and write three words to standard input.")
    with open(arguments[0], "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    words = sys.stdin.read().strip()

    token = os.environ.get("COUNTERSIGN_TOKEN") or new_token()
    for one in connections(token):
        print(f"{one['id']}  {one['name']} ({one['state']})")
    if words:
        print(ask("POST", "/api/v1/verify", token, {"words": words})["summary"])
    # The daemon signs the digest. The file is not uploaded.
    print(ask("POST", "/api/v1/stamp", token, {"sha256": sha256})["verification_url"])


try:
    main(sys.argv[1:])
except (Refused, OSError) as error:
    sys.exit(str(error))
