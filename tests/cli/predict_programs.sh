# Prediction from recorded runs of tests/programs; sourced by predict_programs_*.test.

# Schedules to record under. Under the last ones the threads change places all the time, so that the
# same bug is seen from many sides; some of these runs fail, which changes nothing.
schedules=("" "--policy random --seed 1" "--policy random --seed 2 --quantum 5" "--policy random --seed 3 --quantum 2")
[ -n "${HEDDLE_TEST_FULL:-}" ] && for seed in 11 12 13 14 15 16 17 18 19 20; do
    schedules+=("--policy random --seed $seed --quantum $((seed % 4 + 2))")
done

cat >judge.py <<'END'
import json, re, sys
# judge.py REPORT STATUS MUST MAY VARIABLES: what is wrong with a report, if anything
path, status, must, may, variables = sys.argv[1:6]
report = json.load(open(path))
kinds = {finding["kind"] for finding in report["findings"]}
wrong = []
if report["summary"]["undecided"]:
    wrong.append("undecided candidates")
for finding in report["findings"]:
    a, b = (event["event"] for event in finding["events"])
    if sorted(finding["witness"][-2:]) != sorted([a, b]):
        wrong.append("a witness that does not end in its two accesses")
    if any(event["file"] is None or event["line"] is None for event in finding["events"]):
        wrong.append("an access without a place in the source")
if "race" in must.split(","):
    names = {re.split(r"[\[+]", finding["variable"])[0] for finding in report["findings"]}
    # memory of the heap has no name of its own
    wanted = {re.split(r"\[", name)[0] for name in variables.split(",") if "->" not in name}
    if "race" not in kinds:
        wrong.append("the race is not predicted")
    elif wanted and not wanted & names:
        wrong.append("no race on " + " or ".join(sorted(wanted)) + ", but on " + " ".join(sorted(names)))
elif "race" in kinds and "race" not in may.split(","):
    wrong.append("a false alarm on " + report["findings"][0]["variable"])
if int(status) != (1 if kinds else 0):
    wrong.append("status " + status)
print("; ".join(wrong))
END

predict_twin() { # buggy|fixed
    local program twin must may variable rest options verdict checked=0 wanted=$1
    while IFS=$'\t' read -r program twin must may variable rest; do
        [ "$twin" = "$wanted" ] && in_sample || continue
        if [ "$twin" = fixed ]; then compile_program "$program" -DFIXED; else compile_program "$program"; fi
        for options in "${schedules[@]}"; do
            rm -f trace.hdt
            run timeout 60 "$HEDDLE" record -q $options -o trace.hdt -- ./"$program"
            [ -f trace.hdt ] || { show; fail "$program $twin ($options): no trace"; }
            run "$HEDDLE" predict race --format json trace.hdt
            [ "$status" = 2 ] && { show; fail "$program $twin ($options): predict failed"; }
            verdict=$(python3 "$work/judge.py" "$work/.out" "$status" "$must" "$may" "$variable") ||
                { show; fail "$program $twin ($options): no JSON"; }
            [ -z "$verdict" ] || { show; fail "$program $twin ($options): $verdict"; }
            checked=$((checked + 1))
        done
        rm -f "$program"
    done <"$PROGRAMS/verdicts.tsv"
    [ "$checked" -ge $((100 / ${HEDDLE_TEST_SAMPLE:-1})) ] || fail "only $checked runs were checked"
}
