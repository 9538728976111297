"""What a fork runs on: the tools' gate, the judge of shell commands and the sandbox that runs them."""
