# What the tests of the runtime share: sourced by tests/runtime/*.test, on top of tests/cli/lib.sh.
. "$TESTS/cli/lib.sh"
programs=$TESTS/runtime

# Compiles tests/runtime/NAME.c (or .cpp) to ./NAME; more arguments go to the compiler.
compile() { # NAME [ARGUMENT]...
    local name=$1
    shift
    if [ -f "$programs/$name.cpp" ]; then
        expect_status 0 "$HEDDLE" c++ -g -O1 -o "$name" "$programs/$name.cpp" -pthread "$@"
    else
        expect_status 0 "$HEDDLE" cc -g -O1 -o "$name" "$programs/$name.c" -pthread "$@"
    fi
}

# Records to a.hdt; what hangs is killed, which is no status that a test expects.
expect_record() { # STATUS [RECORD-OPTION]... -- COMMAND...
    local wanted=$1
    shift
    rm -f a.hdt
    expect_status "$wanted" timeout -s KILL "${patience:-30}" "$HEDDLE" record -q -o a.hdt "$@"
}

# The trace is whole and well-formed, nothing is lost, and the program ended in these words.
expect_whole() { # TRACE WORDS
    expect_status 0 "$HEDDLE" stats --format json "$1"
    expect_line '^  "whole": true,$'
    expect_line '^  "warnings": \[\]$'
    expect_line '^    "lost_events": 0,$'
    grep -qF "\"text\": \"$2\"" "$work/.out" && return
    grep '"text"' "$work/.out"
    fail "$1 does not say that the program $2"
}

# The trace has writes of all these variables.
expect_writes() { # TRACE VARIABLE...
    local variable
    expect_status 0 "$HEDDLE" dump --kind w "$1"
    shift
    for variable in "$@"; do expect_line " w +$variable( |\$)"; done
}

# No process runs this program any more (zombies have no program).
expect_nothing_left() { # PROGRAM
    local tries pid
    for ((tries = 0; tries < 20; tries++)); do
        pid=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$PWD/${1#./}" 2>/dev/null | cut -d/ -f3)
        [ -n "$pid" ] || return 0
        sleep 0.1
    done
    # shellcheck disable=SC2086
    kill -KILL $pid
    fail "$1 is still running as process $pid"
}
