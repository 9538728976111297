_memdir() {
    local IFS=$'\n'
    COMPREPLY=($(memdir completion bash --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _memdir memdir
