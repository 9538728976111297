"""The second reader (layer 1): a tree-sitter-bash syntax tree may hold whitelisted node kinds only, no errors, and
exactly the commands and words that `shell_words.py` read. What two independent parsers read differently is refused.
"""

from __future__ import annotations

from memdir.agent.bash.option_tables import names
from memdir.agent.bash.shell_words import Refused, Simple, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

Span = tuple[int, int]

NAMED_KINDS = names(
    "program list pipeline command command_name negated_command redirected_statement file_redirect file_descriptor "
    "word string string_content raw_string ansi_c_string concatenation number comment brace_expression "
    "test_command unary_expression binary_expression test_operator"
)
TOKENS = names('; && || | |& " ! > >> &> &>> >& < $ [ ] [[ ]] = == != -a -o { } ..') | {"\n"}


def check_tree(source: str, commands: list[Simple]) -> None:
    """Refused unless the syntax tree is whole, whitelisted, and says the same as the first reader."""
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    root = Parser(Language(language())).parse(source.encode()).root_node
    if root.has_error:
        raise Refused("The shell syntax is not complete or not plain: check quotes and operators.")
    for node in _walk(root):
        _check_kind(node)
    if list(_tree_spans(root)) != list(_read_spans(source, commands)):
        raise Refused("The command can be read in more than one way: put blanks around operators and quote the words.")


def _walk(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.children)


def _check_kind(node: Node) -> None:
    if node.is_missing or node.is_error or (node.is_extra and node.type != "comment"):
        raise Refused("The shell syntax is not complete or not plain: check quotes and operators.")
    if node.type not in (NAMED_KINDS if node.is_named else TOKENS):
        text = (node.text or b"").decode(errors="replace")
        raise Refused(f"{shown(text)} is shell syntax beyond plain commands ({node.type}): write plain commands only.")


def _tree_spans(root: Node) -> Iterator[tuple[Span, ...]]:
    """Where each command's words stand, in source order; of `[ … ]` only where the whole stands."""
    commands = [node for node in _walk(root) if node.type in ("command", "test_command")]
    for node in sorted(commands, key=lambda found: found.start_byte):
        if node.type == "test_command":
            yield ((node.start_byte, node.end_byte),)
        else:
            yield tuple((c.start_byte, c.end_byte) for c in node.children if c.type != "file_redirect")


def _read_spans(source: str, commands: list[Simple]) -> Iterator[tuple[Span, ...]]:
    for command in commands:
        spans = dict.fromkeys((_bytes(source, word.start), _bytes(source, word.end)) for word in command.words)
        if command.name in ("[", "[["):
            yield ((next(iter(spans))[0], list(spans)[-1][1]),)
        else:
            yield tuple(spans)


def _bytes(source: str, chars: int) -> int:
    return len(source[:chars].encode())
