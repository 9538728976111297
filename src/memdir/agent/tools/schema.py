"""Checks a tool call's arguments against the tool's JSON schema: the few keywords that our schemas use."""

from __future__ import annotations

from collections.abc import Mapping

from memdir.transcript.message import Json

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def fault_of_arguments(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> str:
    """What is wrong with the arguments, in words; empty when nothing is."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list) else []:
        if name not in arguments:
            return f"{name} is missing"
    for name, value in arguments.items():
        if name not in known:
            return f"it has no argument {name!r}; it takes {', '.join(known) or 'none'}"
        fault = _fault_of_value(value, known[name])
        if fault:
            return f"{name} {fault}"
    return ""


def _fault_of_value(value: Json, schema: Json) -> str:
    if not isinstance(schema, dict):
        return ""
    kind = str(schema.get("type", ""))
    expected = _TYPES.get(kind)
    if expected and (not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected)):
        return f"must be of type {kind}"
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        return f"must be one of {', '.join(map(str, choices))}"
    minimum = schema.get("minimum")
    if isinstance(minimum, int | float) and isinstance(value, int | float) and value < minimum:
        return f"must be at least {minimum}"
    return ""
