# bash completion of heddle. Commands and options come from heddle's own help, so that this file need
# not know them.
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
    case $current in
        -*) COMPREPLY=($(compgen -W "$(heddle "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*')" -- "$current")) ;;
        *) COMPREPLY=($(compgen -f -- "$current")) ;;
    esac
}
complete -o filenames -F _heddle heddle
