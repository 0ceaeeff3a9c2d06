# bash completion of heddle. Commands and options come from heddle's own help, so that this file need
# not know them.
# The values that an option of a command takes: "(text|json)" in its help.
_heddle_values() { # COMMAND OPTION
    heddle "$1" --help 2>/dev/null | awk -v option="$2" '
        /^Example/ { exit }
        /^ *(-., *)?--[a-z]/ { here = match($0, "(^|[ ,])" option "( |$)") }
        here && match($0, /\([a-z0-9_+-]+(\|[a-z0-9_+-]+)+\)/) {
            values = substr($0, RSTART + 1, RLENGTH - 2); gsub(/\|/, " ", values); print values; exit
        }'
}
# Words of a list with commas.
_heddle_list() { # WORDS CURRENT
    local before=
    case $2 in *,*) before=${2%,*}, ;; esac
    compgen -P "$before" -W "$1" -- "${2##*,}"
}
_heddle_files() { # CURRENT: traces and directories if there are any, else all files
    local traces
    traces=$(compgen -f -X '!*.hdt' -- "$1"; compgen -d -- "$1")
    [ -n "$traces" ] && printf '%s\n' "$traces" || compgen -f -- "$1"
}
_heddle() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} i
    if [ "$COMP_CWORD" = 1 ]; then
        local commands
        commands=$(heddle help 2>/dev/null | sed -n '/^Example:/q; s/^  \([a-z+]*\)  *[a-z].*/\1/p')
        COMPREPLY=($(compgen -W "$commands help --help --version" -- "$current"))
        return
    fi
    case $command in
        help)
            COMPREPLY=($(compgen -W "$(heddle help 2>/dev/null | sed -n '/^Example:/q; s/^  \([a-z+]*\)  *[a-z].*/\1/p')" -- "$current"))
            return ;;
        cc | c++) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    # What follows -- is another command's.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ]; then
            if [ $i = $((COMP_CWORD - 1)) ]; then
                COMPREPLY=($(compgen -c -f -- "$current"))
            else
                COMPREPLY=($(compgen -f -- "$current"))
            fi
            return
        fi
    done
    local previous=${COMP_WORDS[COMP_CWORD - 1]} values= kinds=
    [ "$current" = = ] && current=
    [ "$previous" = = ] && previous=${COMP_WORDS[COMP_CWORD - 2]}
    case $previous in
        --*) values=$(_heddle_values "$command" "$previous") ;;
    esac
    if [ -n "$values" ]; then
        COMPREPLY=($(_heddle_list "$values" "$current"))
        return
    fi
    case $current in
        -*) COMPREPLY=($(compgen -W "$(heddle "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*')" -- "$current")) ;;
        *)
            kinds=$(heddle "$command" --help 2>/dev/null | sed -n 's/^Kinds: //p')
            COMPREPLY=($(_heddle_list "$kinds" "$current") $(_heddle_files "$current")) ;;
    esac
}
complete -o filenames -F _heddle heddle
