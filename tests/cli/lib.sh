# What a command-line test may use; sourced by tests/cli/*.test. See tests/README.md.
set -u
: "${HEDDLE:?}" "${PROGRAMS:?}" "${TESTS:?}" "${SOURCE:?}"
work=$PWD

fail() { # MESSAGE...
    echo "${BASH_SOURCE[-1]##*/}:${BASH_LINENO[-2]:-?}: $*"
    exit 1
}

skip() { # REASON
    echo "$*"
    exit 77
}

# Replaces what differs from run to run and machine to machine.
normalise() {
    sed -E -e "s|$work|WORK|g" -e "s|$PROGRAMS|PROGRAMS|g" -e "s|${HEDDLE%/heddle}|BUILD|g" \
        -e "s|$SOURCE|SOURCE|g" -e 's/0x[0-9a-f]{5,}/ADDRESS/g' \
        -e 's/\b(pid|process) [0-9]+/\1 PID/g'
}

show() { # what the last `run` did
    echo "command: ${ran[*]}"
    echo "status: $status"
    [ -s "$work/.out" ] && { echo "--- standard output"; head -c 20000 "$work/.out"; }
    [ -s "$work/.err" ] && { echo "--- standard error"; head -c 20000 "$work/.err"; }
    return 0
}

# Runs a command; $status, and the files .out and .err of the scratch directory, hold its result.
status=0 ran=()
run() { # COMMAND...
    ran=("$@")
    "$@" >"$work/.out" 2>"$work/.err"
    status=$?
    return 0
}

expect_status() { # STATUS COMMAND...
    local wanted=$1
    shift
    run "$@"
    [ "$status" = "$wanted" ] && return
    show
    fail "status $status instead of $wanted"
}

compare() { # WHAT FILE, wanted text on standard input
    normalise <"$2" >"$work/.got"
    cat >"$work/.wanted"
    diff -u --label wanted --label got "$work/.wanted" "$work/.got" && return
    show
    fail "$1 is not what it should be"
}

# Standard output, normalised, is exactly the text on standard input; status 0.
expect_output() { # COMMAND... <<END
    expect_status 0 "$@" </dev/null
    compare "standard output" "$work/.out"
}

# Standard error, normalised, is exactly the text on standard input, with that status.
expect_error() { # STATUS COMMAND... <<END
    local wanted=$1
    shift
    expect_status "$wanted" "$@" </dev/null
    compare "standard error" "$work/.err"
}

# The last command's output (or a file) has a line that matches, or has none.
expect_line() { # EXTENDED-REGULAR-EXPRESSION [FILE]
    grep -qE -- "$1" "${2:-$work/.out}" && return
    show
    fail "no line matches '$1'${2:+ in $2}"
}
expect_no_line() { # EXTENDED-REGULAR-EXPRESSION [FILE]
    grep -qE -- "$1" "${2:-$work/.out}" || return 0
    show
    fail "a line matches '$1'${2:+ in $2}"
}

expect_file() { [ -e "$1" ] || fail "there is no $1"; }
expect_no_file() { [ ! -e "$1" ] || fail "$1 should not be there"; }

# Runs a function of the test once for each compiler, in a directory of its own.
for_compilers() { # FUNCTION
    local pair
    for pair in gcc:g++ clang:clang++; do
        export HEDDLE_CC=${pair%:*} HEDDLE_CXX=${pair#*:} compiler=${pair%:*}
        mkdir -p "$work/$compiler"
        cd "$work/$compiler" || fail "no scratch directory"
        "$1" || fail "$1 failed with $compiler"
        cd "$work" || fail "no scratch directory"
    done
    unset HEDDLE_CC HEDDLE_CXX compiler
}

# Compiles tests/programs/NAME.c (or .cpp) to ./NAME with the wrapper; more arguments go to it.
compile_program() { # NAME [ARGUMENT]...
    local name=$1
    shift
    if [ -f "$PROGRAMS/$name.cpp" ]; then
        expect_status 0 "$HEDDLE" c++ -g -O1 -o "$name" "$@" "$PROGRAMS/$name.cpp" -pthread
    else
        expect_status 0 "$HEDDLE" cc -g -O1 -o "$name" "$@" "$PROGRAMS/$name.c" -pthread
    fi
}

# Whether the next of many programs is to be tried: all are, or one of every $HEDDLE_TEST_SAMPLE. The slow
# builds test heddle itself on a sample; the verdicts on all of them are the release build's matter.
sample_at=0
in_sample() {
    sample_at=$((sample_at + 1))
    [ $((sample_at % ${HEDDLE_TEST_SAMPLE:-1})) = 0 ]
}
