"""The Model Context Protocol, as far as a server of tools, resources and prompts needs it: a message in, an answer out.

Two forms are spoken. Up to 2025-11-25 a client opens with `initialize`; from 2026-07-28 on every request carries its
version in `_meta` and `server/discover` tells what there is. The standard library alone: a client waits for the first
answer before it asks its model anything.
"""

from __future__ import annotations

from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    Params = Mapping[str, Any]
    Result = dict[str, Any]

    class Offers(Protocol):
        """What a server has to offer."""

        @property
        def instructions(self) -> str: ...

        def listed(self, what: str) -> Result: ...

        def call(self, name: str, arguments: Params) -> Result: ...

        def resources(self, cursor: str) -> tuple[list[Result], str]: ...

        def read(self, uri: str) -> list[Result]: ...

        def prompt(self, name: str, arguments: Params) -> Result: ...


HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # versions that a client opens with `initialize`
ENVELOPE = ("2026-07-28",)  # versions that every request names itself
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SERVER = {"name": "memdir", "title": "memdir: memory as Markdown files", "version": __version__}
CAPABILITIES: dict[str, dict[str, bool]] = {"tools": {}, "resources": {}, "prompts": {}}
FRESH_MS = 60_000  # how long a client may keep the list of tools, which never changes while we run
_KEPT = {"ttlMs": FRESH_MS, "cacheScope": "private"}
_LIVING = {"ttlMs": 0, "cacheScope": "private"}  # memories change under a client's hands

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_RESOURCE = -32002
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022


class RpcError(Exception):
    """A request that cannot be answered; the client gets code and words."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class McpServer:
    """Answers one message after the other. It keeps nothing between them: a client may speak both forms."""

    def __init__(self, offers: Offers, on_failure: Callable[[Exception], None]) -> None:
        self._offers, self._on_failure = offers, on_failure
        self._methods: dict[str, tuple[Callable[[Params], Result], Result]] = {
            "ping": (lambda _: {}, {}),
            "server/discover": (self._discover, _KEPT),
            "tools/list": (lambda _: offers.listed("tools"), _KEPT),
            "tools/call": (lambda params: offers.call(_text(params, "name"), _mapping(params, "arguments")), {}),
            "resources/list": (self._resources, _LIVING),
            "resources/templates/list": (lambda _: offers.listed("resourceTemplates"), _KEPT),
            "resources/read": (lambda params: {"contents": offers.read(_text(params, "uri"))}, _LIVING),
            "prompts/list": (lambda _: offers.listed("prompts"), _KEPT),
            "prompts/get": (lambda params: offers.prompt(_text(params, "name"), _mapping(params, "arguments")), {}),
        }

    def answer(self, message: object) -> Result | None:
        """The answer to a message; None where none is due: for notifications, and for answers to what nobody asked."""
        request_id: object = None
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise RpcError(INVALID_REQUEST, "a message is one JSON-RPC 2.0 object")
            if "method" not in message and ("result" in message or "error" in message):
                return None
            request_id, method, params = message.get("id"), message.get("method"), message.get("params", {})
            if not isinstance(method, str) or not isinstance(params, dict):
                raise RpcError(INVALID_REQUEST, "a request has a method and, where it has them, params by name")
            if "id" not in message:
                return None
            if not isinstance(request_id, (str, int)) or isinstance(request_id, bool):
                request_id = None
                raise RpcError(INVALID_REQUEST, "the id of a request is a text or a whole number")
            return {"jsonrpc": "2.0", "id": request_id, "result": self._result(method, params)}
        except RpcError as refused:
            return error_answer(refused, request_id)
        except Exception as error:  # noqa: BLE001 - the one of this surface: a client goes on whatever happens here
            self._on_failure(error)
            return error_answer(RpcError(INTERNAL, "something went wrong inside memdir"), request_id)

    def _result(self, method: str, params: Params) -> Result:
        version = _version(params)
        if method == "initialize" and not version:
            return self._initialize(params)
        if method == "server/discover" and not version:
            raise RpcError(INVALID_PARAMS, f"a request names its version: _meta has no {VERSION_KEY}")
        if method not in self._methods or (method == "ping" and version):
            raise RpcError(NO_METHOD, f"there is no method {method[:100]!r}")
        handler, freshness = self._methods[method]
        result = handler(params)
        if not version:
            return result
        return {"resultType": "complete", **freshness, **result, "_meta": {SERVER_KEY: SERVER}}

    def _initialize(self, params: Params) -> Result:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[-1],
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": self._offers.instructions,
        }

    def _discover(self, _: Params) -> Result:
        versions = [*HANDSHAKE, *ENVELOPE]
        told = self._offers.instructions
        return {"supportedVersions": versions, "capabilities": CAPABILITIES, "instructions": told}

    def _resources(self, params: Params) -> Result:
        found, after = self._offers.resources(_text(params, "cursor", or_none=True))
        return {"resources": found, **({"nextCursor": after} if after else {})}


def error_answer(refused: RpcError, request_id: object = None) -> Result:
    """A refusal as the client gets it."""
    error: Result = {"code": refused.code, "message": refused.message}
    if refused.data is not None:
        error["data"] = refused.data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def parsed(line: bytes) -> object:
    """A message as it came over the wire; RpcError when it is none."""
    import json

    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "that is no JSON") from None


def rendered(answer: Result) -> bytes:
    """An answer in one line. What is no character goes as its number: half a pair would break the line."""
    import json

    return json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"


def _version(params: Params) -> str:
    """The version that a request names itself, "" for one in a connection that was opened by `initialize`."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        return ""
    named = meta[VERSION_KEY]
    if named not in ENVELOPE:
        raise unsupported(named)
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise RpcError(INVALID_PARAMS, f"a request says what its client can do: _meta has no {CAPABILITIES_KEY}")
    return str(named)


def unsupported(version: object) -> RpcError:
    supported = {"supported": [*HANDSHAKE, *ENVELOPE], "requested": str(version)[:100]}
    return RpcError(UNSUPPORTED_VERSION, "that version is not spoken here", supported)


def _text(params: Params, name: str, *, or_none: bool = False) -> str:
    value = params.get(name)
    if value is None and or_none:
        return ""
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"{name} has to be a text")
    return value


def _mapping(params: Params, name: str) -> Params:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, f"{name} has to be an object")
    return value
