"""Claude keeps a memory directory with Anthropic's memory tool, and a person can read, search and undo what it wrote.

python examples/memory_tool.py    (asks Anthropic: needs a key, and `pip install memdir[anthropic]`)
"""

from anthropic import Anthropic

from memdir import open_memory
from memdir.adapters.anthropic_tool import MemoryTool


def main() -> None:
    memory = open_memory(".")
    runner = Anthropic().beta.messages.tool_runner(
        model="claude-sonnet-5",
        max_tokens=2000,
        tools=[MemoryTool(memory, session="monday")],
        messages=[{"role": "user", "content": "We release on Tuesdays. Please keep that in mind."}],
        thread=False,
    )
    runner.until_done()
    for header in memory.list():
        print(f"{header.key}: {header.description}")


if __name__ == "__main__":
    main()
