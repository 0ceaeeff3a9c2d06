#!/bin/sh
# heddleHunt.sh BINARY DIRECTORY EXECUTABLE HEDDLE hunt OPTION... -- ARGUMENT...: runs the hunt in BINARY/heddle, the
# second build tree, where DIRECTORY and EXECUTABLE of BINARY have the same place. Run by the tests of heddle_add_hunt.
binary=$1 directory=$2 executable=$3
shift 3
cd "$binary/heddle${directory#"$binary"}" || exit 2
executable=$binary/heddle${executable#"$binary"}
before=1
for word; do
    shift
    set -- "$@" "$word"
    if [ $before = 1 ] && [ "$word" = -- ]; then
        set -- "$@" "$executable"
        before=0
    fi
done
exec "$@"
