"""The surface of sharing: the commands that hand memories to a team and keep them in step."""
