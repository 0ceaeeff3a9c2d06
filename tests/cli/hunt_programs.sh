# hunt on programs of tests/programs; sourced by hunt_*.test.

# A program that passes ends with a failure that comes back, within ten forced runs.
hunt_buggy() { # PROGRAM OUTCOME KIND VARIABLE
    local program=$1 outcome=$2 kind=$3 variable=$4 forced
    compile_program "$program"
    expect_status 1 "$HEDDLE" hunt --time 30 --limit 5 --repeat 5 -- ./"$program" </dev/null
    expect_line "^$kind on $variable.*: .*$outcome"
    expect_line '^  Reproduced 5 of 5'
    expect_line "^  Again:  heddle replay $program\.heddle\.json -- \./$program\$"
    forced=$(sed -n 's/.* (number \([0-9]*\) failed first).*/\1/p' .out)
    [ -n "$forced" ] && [ "$forced" -le 10 ] || { show; fail "$program: not within 10 forced runs"; }
    # The file that was written does it again, by itself.
    expect_file "$program.heddle.json"
    run "$HEDDLE" replay "$program.heddle.json" -- ./"$program"
    expect_line 'confirmed' .err
    rm -f "$program" "$program.heddle.json"
}

# Its repaired twin gives nothing.
hunt_fixed() { # PROGRAM
    compile_program "$1" -DFIXED
    expect_status 0 "$HEDDLE" hunt --time 30 --limit 5 --expose 3 -- ./"$1" </dev/null
    expect_line '^Nothing found: '
    expect_no_file "$1.heddle.json"
    rm -f "$1"
}
