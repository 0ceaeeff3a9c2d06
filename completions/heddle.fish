# fish completion of heddle, from heddle's own help.
function __heddle_commands
    heddle help 2>/dev/null | sed -n '/^Example:/q; s/^  \([a-z+]*\)  *\([a-z].*\)/\1\t\2/p'
end
function __heddle_options
    set -l words (commandline -opc)
    heddle $words[2] --help 2>/dev/null | sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z-]*\)\( [A-Z]*\)\{0,1\}  *\(.*\)/\2\t\4/p'
end
# The values that the option before takes: "(text|json)" in its help.
function __heddle_values
    set -l words (commandline -opc)
    heddle $words[2] --help 2>/dev/null | awk -v option=$words[-1] '
        /^Example/ { exit }
        /^ *(-., *)?--[a-z]/ { here = match($0, "(^|[ ,])" option "( |$)") }
        here && match($0, /\([a-z0-9_+-]+(\|[a-z0-9_+-]+)+\)/) {
            values = substr($0, RSTART + 1, RLENGTH - 2); gsub(/\|/, "\n", values); print values; exit
        }'
end
function __heddle_kinds
    set -l words (commandline -opc)
    heddle $words[2] --help 2>/dev/null | sed -n 's/^Kinds: //p' | string split ' '
end
complete -c heddle -n '__fish_is_nth_token 1' -f -a '(__heddle_commands)'
complete -c heddle -n '__fish_seen_subcommand_from help' -f -a '(__heddle_commands)'
complete -c heddle -n 'not __fish_is_nth_token 1; and not __fish_seen_subcommand_from cc c++ help; and not contains -- -- (commandline -opc)' -a '(__heddle_options)'
complete -c heddle -n 'string match -q -- "--*" (commandline -opc)[-1]' -f -a '(__heddle_values)'
complete -c heddle -n '__fish_seen_subcommand_from predict' -a '(__heddle_kinds)'
