from memdir.text.printable import one_line as one_line
from memdir.text.printable import printable as printable
from memdir.transcript.conversation import Conversation as Conversation
from memdir.transcript.file_history import FileHistory as FileHistory
from memdir.transcript.message import Message as Message
from memdir.transcript.message import Text as Text
from memdir.transcript.message import ToolResult as ToolResult
from memdir.transcript.message import ToolUse as ToolUse
from memdir.transcript.message import assistant as assistant
from memdir.transcript.message import user as user
from memdir.transcript.session_list import find_session as find_session
from memdir.transcript.transcript import Transcript as Transcript

__all__: list[str]
