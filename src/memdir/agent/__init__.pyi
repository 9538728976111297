from memdir.agent.allowed_commands import AllowedCommands as AllowedCommands
from memdir.agent.bash import surely_reads as surely_reads
from memdir.agent.file_access import DiskFiles as DiskFiles
from memdir.agent.file_access import RecordedFiles as RecordedFiles
from memdir.agent.fork import BackgroundTask as BackgroundTask
from memdir.agent.fork import ForkProgress as ForkProgress
from memdir.agent.fork import ForkTools as ForkTools
from memdir.agent.fork import Job as Job
from memdir.agent.fork import run_fork as run_fork
from memdir.agent.gate import Allow as Allow
from memdir.agent.gate import Deny as Deny
from memdir.agent.gate import allow_all as allow_all
from memdir.agent.gate import memory_gate as memory_gate
from memdir.agent.host_files import HostFiles as HostFiles
from memdir.agent.loop import Abort as Abort
from memdir.agent.loop import run_agent as run_agent
from memdir.agent.tools.file_tools import PlannedWrite as PlannedWrite
from memdir.agent.tools.file_tools import change_of as change_of
from memdir.agent.tools.tool import Outcome as Outcome
from memdir.agent.tools.tool import Tool as Tool
from memdir.agent.tools.tool import Toolbox as Toolbox
from memdir.agent.tools.tool import ToolContext as ToolContext
from memdir.agent.tools.tool import memory_tools as memory_tools
from memdir.agent.workspace import Ruling as Ruling
from memdir.agent.workspace import Workspace as Workspace
from memdir.store.history import Origin as Origin

__all__: list[str]
