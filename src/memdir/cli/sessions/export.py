"""Write a conversation to a file that people can read: Markdown, or one HTML page that needs no network.

The name of the file decides (.md, .html). Secrets are taken out; --keep-secrets leaves them in."""

from __future__ import annotations

import os
import sys

from memdir.cli.sessions.choose import add_agent, add_session, chosen, look, sources
from memdir.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.cli.context import Context
    from memdir.transcript.export.story import Story

EXAMPLES = (
    "memdir sessions export --to talk.html",
    "memdir sessions export 0f3a91c2 --to talk.md",
    "memdir sessions export --agent codex --format md > talk.md",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--to", metavar="FILE", help="where to (default: standard output)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")
    parser.add_argument("--format", choices=("md", "html"), help="default: by the name of the file, else md")
    parser.add_argument("--keep-secrets", action="store_true", help="do not take out what looks like a secret")
    add_agent(parser)


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.disk.atomic import require_new, write_exported
    from memdir.transcript.export.story import filtered, tell, without_secrets

    path = os.path.abspath(options.to) if options.to else ""
    if path:
        require_new(path, replace=options.force)  # before the work
    ref = chosen(context, options.session, options.agent)
    story = tell(ref, sources(context, ref.agent)[ref.agent], title=look(context, ref).title)
    if not options.keep_secrets:
        story = without_secrets(story)
    story = filtered(story, _harmless)
    data = _rendered(story, options.format or _format_of(options.to)).encode("utf-8", "replace")
    if not options.to:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return 0
    write_exported(path, data, replace=options.force)
    context.note(f"wrote {len(story.messages)} messages to {path}")
    return 0


def _harmless(text: str) -> str:
    """Text without anything that a terminal would act on, tabs and newlines as they are."""
    return "\t".join(clean(part, keep_newlines=True) for part in text.split("\t"))


def _format_of(path: str | None) -> str:
    return "html" if path and path.lower().endswith((".html", ".htm")) else "md"


def _rendered(story: Story, kind: str) -> str:
    if kind == "html":
        from memdir.transcript.export.web_page import as_html

        return as_html(story)
    from memdir.transcript.export.markdown import as_markdown

    return as_markdown(story)
