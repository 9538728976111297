complete -c memdir -f -a '(memdir completion fish --words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
