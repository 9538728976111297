_memdir() {
    local -a found
    found=("${(@f)$(memdir completion zsh --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -U -a found
}
compdef _memdir memdir
