# fish completion of heddle, from heddle's own help.
function __heddle_commands
    heddle help 2>/dev/null | sed -n '/^Example:/q; s/^  \([a-z+]*\)  *\([a-z].*\)/\1\t\2/p'
end
function __heddle_options
    set -l words (commandline -opc)
    heddle $words[2] --help 2>/dev/null | sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z-]*\)\( [A-Z]*\)\{0,1\}  *\(.*\)/\2\t\4/p'
end
complete -c heddle -n '__fish_is_nth_token 1' -f -a '(__heddle_commands)'
complete -c heddle -n '__fish_seen_subcommand_from help' -f -a '(__heddle_commands)'
complete -c heddle -n 'not __fish_is_nth_token 1; and not __fish_seen_subcommand_from cc c++ help; and not contains -- -- (commandline -opc)' -a '(__heddle_options)'
