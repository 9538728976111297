"""What went wrong with a provider, in words that name the remedy. One table for all providers."""

from __future__ import annotations

from collections.abc import Mapping

from memdir.errors import ModelError

_CONTEXT_WORDS = (
    "context length",
    "context window",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "context_length",
)
_MODEL_WORDS = ("model",)


def missing_sdk(package: str) -> ModelError:
    """The provider's SDK is an extra that is not installed."""
    return ModelError(
        f"the package {package} is not installed", kind="no_sdk", remedy=f"Install it: pip install 'memdir[{package}]'"
    )


def from_status(
    status: int, message: str, *, model: str, provider: str, headers: Mapping[str, str] | None = None
) -> ModelError:
    """The error behind an HTTP status."""
    told = f"{provider} answered {status}: {message}"
    lowered = message.lower()
    if status == 401 or (status == 403 and "key" in lowered):
        return ModelError(
            told, kind="wrong_key", remedy="Check the API key: it is wrong, expired or of another account"
        )
    if status == 404 or (
        status == 400 and any(word in lowered for word in _MODEL_WORDS) and "not" in lowered and model in message
    ):
        return ModelError(
            told, kind="unknown_model", remedy=f"Check the model's name {model!r} and the setting model.baseUrl"
        )
    if status == 413 or (status == 400 and any(word in lowered for word in _CONTEXT_WORDS)):
        return ModelError(
            told, kind="context_too_long", remedy="Compact or shorten the conversation, or use a larger model"
        )
    if status == 429:
        remedy = "Wait, or raise the limit with the provider"
        return ModelError(told, kind="rate_limit", remedy=remedy, retry_after=_retry_after(headers))
    if status in (408, 409, 425) or status >= 500:
        remedy = "The provider has a problem: try again later"
        return ModelError(told, kind="overloaded", remedy=remedy, retry_after=_retry_after(headers))
    return ModelError(told, kind="bad_request", remedy="The provider refused the request as it is")


def from_connection(error: Exception, *, provider: str) -> ModelError:
    """The error behind a connection that failed, hung or broke off."""
    name = type(error).__name__.lower()
    told = str(error) or type(error).__name__
    cause = error.__cause__
    if "timeout" in name or isinstance(error, TimeoutError) or (cause and "timeout" in type(cause).__name__.lower()):
        return ModelError(f"{provider} did not answer in time", kind="timeout", remedy="Try again later")
    if isinstance(error, ValueError):  # half a JSON, or bytes that are no text
        return ModelError(
            f"{provider} sent a reply that cannot be read: {told}", kind="interrupted", remedy="Try again"
        )
    if "protocol" in name or "read" in name or (cause and "protocol" in type(cause).__name__.lower()):
        return ModelError(f"the connection to {provider} broke off: {told}", kind="interrupted", remedy="Try again")
    if "connect" in name or "network" in name or "apierror" in name or isinstance(error, OSError):
        remedy = "Check the network, a proxy, and the setting model.baseUrl"
        return ModelError(f"{provider} cannot be reached: {told}", kind="no_network", remedy=remedy)
    return ModelError(f"{provider} sent a reply that cannot be read: {type(error).__name__}: {told}", kind="bad_reply")


def _retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after`; an HTTP date or nonsense counts as none."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            value = float((headers or {}).get(name, ""))
        except ValueError:
            continue
        if value >= 0:
            return value * scale
    return None
