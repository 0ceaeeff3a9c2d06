# Tables from bench/record/run's measurements (tab-separated; see `measure` there). Times are medians
# over the repetitions. Variables: markdown (0 or 1), repeat.

BEGIN { FS = "\t" }

$1 == "load" {
    load_key[$2] = $2
    append("load", $2, $7)
    load_size[$2] = $4; model_bytes[$2] = $8; append("stats", $2, $10)
    load_events[$2] = $11; load_stored[$2] = $12; load_file[$2] = $13
    next
}

{
    run = $1 SUBSEP $2 SUBSEP $3 SUBSEP $5
    if (!($2 in seen_kernel)) { seen_kernel[$2]; kernels[++kernel_count] = $2 }
    if (!($3 in seen_threads)) { seen_threads[$3]; teams[++team_count] = $3 }
    size[$1, $2] = $4
    has[$1, $5] = 1
    if ($9 != "yes") { bad[run] = 1; next }
    append("time", run, $7)
    if ($14 > 0) append("cpu", run, $14)
    if ($8 > 0) append("peak", run, $8)
    if ($10 != "") { calls[run] = $10; events[run] = $11; stored[run] = $12; file[run] = $13 }
}

function append(what, key, value) { samples[what, key, ++sample_count[what, key]] = value + 0 }

function median(what, key,    n, i, j, held, sorted) {
    n = sample_count[what, key] + 0
    if (n == 0) return 0
    for (i = 1; i <= n; i++) sorted[i] = samples[what, key, i]
    for (i = 2; i <= n; i++) {
        held = sorted[i]
        for (j = i - 1; j >= 1 && sorted[j] > held; j--) sorted[j + 1] = sorted[j]
        sorted[j + 1] = held
    }
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function key_of(class, kernel, team, tool) { return class SUBSEP kernel SUBSEP team SUBSEP tool }
function time_of(class, kernel, team, tool) { return median("time", key_of(class, kernel, team, tool)) }
function cpu_of(class, kernel, team, tool) { return median("cpu", key_of(class, kernel, team, tool)) }
function peak_of(class, kernel, team, tool) { return median("peak", key_of(class, kernel, team, tool)) }

# ---- tables: cells are collected, then printed with columns of one width

function title(text) { print (markdown ? "### " : "") text; print "" }
function start_table(header,    n, i, parts) {
    rows = 0; columns = split(header, parts, "|")
    for (i = 1; i <= columns; i++) { cell[0, i] = parts[i]; width[i] = length(parts[i]) }
    for (i in mean_log) delete mean_log[i]
    for (i in mean_count) delete mean_count[i]
}
function put(column, text) {
    cell[rows, column] = text
    if (length(text) > width[column]) width[column] = length(text)
}
function put_ratio(column, top, bottom, suffix) {
    if (top <= 0 || bottom <= 0) { put(column, "-"); return }
    put(column, sprintf("%.2f%s", top / bottom, suffix))
    mean_log[column] += log(top / bottom); mean_count[column]++
}
function mean(column) { return mean_count[column] ? exp(mean_log[column] / mean_count[column]) : 0 }
function end_means(label, suffix,    i) {
    rows++
    put(1, label)
    for (i = 2; i <= columns; i++)
        put(i, mean_count[i] ? sprintf("%.2f%s", mean(i), suffix[i]) : "")
}
function print_table(    r, i, line, rule) {
    for (r = 0; r <= rows; r++) {
        line = markdown ? "|" : ""
        rule = markdown ? "|" : ""
        for (i = 1; i <= columns; i++) {
            # the first column is words, the others are numbers
            line = line sprintf(markdown ? " %" (i == 1 ? "-" : "") width[i] "s |" \
                                         : (i == 1 ? "%-" : "  %") width[i] "s", cell[r, i])
            rule = rule (i == 1 ? dashes(width[i] + 2) : dashes(width[i] + 1) ":") "|"
        }
        print line
        if (r == 0 && markdown) print rule
    }
    print ""
    for (i in cell) delete cell[i]
}
function dashes(n,    s) { s = ""; while (n-- > 0) s = s "-"; return s }

function seconds(class, kernel, team, tool,    t) {
    if (bad[key_of(class, kernel, team, tool)]) return "FAILED"
    t = time_of(class, kernel, team, tool)
    return t > 0 ? sprintf("%.3f", t) : "-"
}
function millions(n) { return n == "" ? "-" : sprintf("%.2f", n / 1e6) }
function per(top, bottom) { return top == "" || bottom + 0 == 0 ? "-" : sprintf("%.2f", top / bottom) }

function wall_table(team,    k, kernel, native, tsan) {
    title("Wall time at " team " threads, default settings")
    start_table("kernel|size|native s|TSan s|serial s|free s|TSan|serial|free|serial/TSan|free/TSan")
    for (k = 1; k <= kernel_count; k++) {
        kernel = kernels[k]
        native = time_of("main", kernel, team, "native")
        tsan = time_of("main", kernel, team, "tsan")
        rows++
        put(1, kernel); put(2, size["main", kernel])
        put(3, seconds("main", kernel, team, "native")); put(4, seconds("main", kernel, team, "tsan"))
        put(5, seconds("main", kernel, team, "serial")); put(6, seconds("main", kernel, team, "free"))
        put_ratio(7, tsan, native, "x")
        put_ratio(8, time_of("main", kernel, team, "serial"), native, "x")
        put_ratio(9, time_of("main", kernel, team, "free"), native, "x")
        put_ratio(10, time_of("main", kernel, team, "serial"), tsan, "")
        put_ratio(11, time_of("main", kernel, team, "free"), tsan, "")
    }
    suffix[7] = suffix[8] = suffix[9] = "x"; suffix[10] = suffix[11] = ""
    end_means("geometric mean", suffix)
    goal_serial[team] = mean(10); goal_free[team] = mean(11)
    print_table()
}

# Processor time does not care how busy the machine is otherwise, as wall time does.
function cpu_table(team,    k, kernel, t, tools, n, c, native, tsan) {
    title("Processor time at " team " threads, default settings, the recorder's included")
    start_table("kernel|native s|TSan s|serial s|free s|TSan|serial|free|serial/TSan|free/TSan")
    n = split("native tsan serial free", tools, " ")
    for (k = 1; k <= kernel_count; k++) {
        kernel = kernels[k]
        native = cpu_of("main", kernel, team, "native")
        tsan = cpu_of("main", kernel, team, "tsan")
        rows++
        put(1, kernel)
        for (t = 1; t <= n; t++) {
            c = cpu_of("main", kernel, team, tools[t])
            put(t + 1, c > 0 ? sprintf("%.3f", c) : "-")
            if (t > 1) put_ratio(t + 4, c, native, "x")
            if (t > 2) put_ratio(t + 6, c, tsan, "")
        }
    }
    suffix[6] = suffix[7] = suffix[8] = "x"; suffix[9] = suffix[10] = ""
    end_means("geometric mean", suffix)
    print_table()
}

function memory_table(team,    k, kernel, native, tsan, t, tools, n, p) {
    title("Peak memory of the target at " team " threads, MB")
    start_table("kernel|native|TSan|serial|free|TSan/native|serial/native|free/native|serial/TSan|free/TSan")
    n = split("native tsan serial free", tools, " ")
    for (k = 1; k <= kernel_count; k++) {
        kernel = kernels[k]
        native = peak_of("main", kernel, team, "native")
        tsan = peak_of("main", kernel, team, "tsan")
        rows++
        put(1, kernel)
        for (t = 1; t <= n; t++) {
            p = peak_of("main", kernel, team, tools[t])
            put(t + 1, p > 0 ? sprintf("%.1f", p / 1024) : "-")
        }
        put_ratio(6, tsan, native, "x")
        put_ratio(7, peak_of("main", kernel, team, "serial"), native, "x")
        put_ratio(8, peak_of("main", kernel, team, "free"), native, "x")
        put_ratio(9, peak_of("main", kernel, team, "serial"), tsan, "")
        put_ratio(10, peak_of("main", kernel, team, "free"), tsan, "")
    }
    suffix[6] = suffix[7] = suffix[8] = "x"; suffix[9] = suffix[10] = ""
    end_means("geometric mean", suffix)
    goal_memory_serial[team] = mean(9); goal_memory_free[team] = mean(10)
    print_table()
}

function recorded_row(class, kernel, team, tool,    run, t) {
    run = key_of(class, kernel, team, tool)
    if (!(run in calls)) return
    t = time_of(class, kernel, team, tool)
    rows++
    put(1, kernel); put(2, team); put(3, tool)
    put(4, millions(calls[run])); put(5, t > 0 ? sprintf("%.1f", calls[run] / t / 1e6) : "-")
    put(6, millions(events[run])); put(7, per(stored[run], events[run]))
    put(8, sprintf("%.3f", file[run] / 1e6))
    if (events[run] > 0) {
        bytes_log += log(stored[run] / events[run]); bytes_count++
        if (stored[run] / events[run] > bytes_worst) bytes_worst = stored[run] / events[run]
    }
}

function recorded_table(    k, p) {
    title("What was recorded")
    start_table("kernel|threads|settings|hook calls, M|hook calls/s, M|events, M|stored bytes/event|file, MB")
    for (k = 1; k <= kernel_count; k++)
        for (p = 1; p <= team_count; p++) {
            recorded_row("main", kernels[k], teams[p], "serial")
            recorded_row("main", kernels[k], teams[p], "free")
        }
    print_table()
}

# Slowdowns of some tools at the sizes of one class.
function slowdown_table(class, team, heading, tool_list, header,    k, kernel, native, t, n, tools, column) {
    title(heading)
    start_table(header)
    n = split(tool_list, tools, " ")
    for (k = 1; k <= kernel_count; k++) {
        kernel = kernels[k]
        native = time_of(class, kernel, team, "native")
        rows++
        put(1, kernel); put(2, size[class, kernel]); put(3, seconds(class, kernel, team, "native"))
        column = 3
        for (t = 1; t <= n; t++) {
            suffix[++column] = "x"
            if (bad[key_of(class, kernel, team, tools[t])]) put(column, "FAILED")
            else put_ratio(column, time_of(class, kernel, team, tools[t]), native, "x")
        }
    }
    end_means("geometric mean", suffix)
    print_table()
}

function load_table(    kernel, seconds_taken, per_ten, bytes) {
    title("Loading a recording into the model")
    start_table("recording|events, M|file, MB|stored bytes/event|load s|M events/s|model bytes/event|whole stats command s")
    for (kernel in load_key) {
        rows++
        seconds_taken = median("load", kernel)
        put(1, kernel " " load_size[kernel]); put(2, millions(load_events[kernel]))
        put(3, sprintf("%.1f", load_file[kernel] / 1e6))
        put(4, per(load_stored[kernel], load_events[kernel]))
        put(5, sprintf("%.2f", seconds_taken))
        put(6, seconds_taken > 0 ? sprintf("%.1f", load_events[kernel] / seconds_taken / 1e6) : "-")
        put(7, per(model_bytes[kernel], load_events[kernel]))
        put(8, sprintf("%.2f", median("stats", kernel)))
        per_ten = load_events[kernel] ? seconds_taken * 1e7 / load_events[kernel] : 0
        if (per_ten > load_worst) load_worst = per_ten
        bytes = load_events[kernel] ? model_bytes[kernel] / load_events[kernel] : 0
        if (bytes > model_worst) model_worst = bytes
    }
    print_table()
}

function goal(name, target, measured, format) {
    if (measured + 0 == 0) return
    if (rows == 0) title("Goals")
    rows++
    put(1, name); put(2, sprintf(format, target)); put(3, sprintf(format, measured))
    put(4, measured <= target ? "met" : "missed")
}

function goal_table() {
    start_table("goal|at most|measured|")
    goal("wall time, free, 2 threads, ratio to TSan's (geometric mean)", 0.7, goal_free[2], "%.2f")
    goal("wall time, serial, 2 threads, ratio to TSan's (geometric mean)", 1, goal_serial[2], "%.2f")
    goal("peak memory, free, 2 threads, ratio to TSan's (geometric mean)", 1, goal_memory_free[2], "%.2f")
    goal("peak memory, serial, 2 threads, ratio to TSan's (geometric mean)", 1, goal_memory_serial[2], "%.2f")
    if (bytes_count) {
        goal("stored bytes per event (geometric mean)", 3, exp(bytes_log / bytes_count), "%.2f")
        goal("stored bytes per event (worst kernel)", 3, bytes_worst, "%.2f")
    }
    goal("seconds to load 10 million events (worst)", 2, load_worst, "%.2f")
    goal("model bytes per event (worst)", 40, model_worst, "%.1f")
    if (rows) print_table()
}

END {
    for (p = 1; p <= team_count; p++) if (has["main", "native"]) wall_table(teams[p])
    for (p = 1; p <= team_count; p++) if (has["main", "native"]) cpu_table(teams[p])
    for (p = 1; p <= team_count; p++) if (has["main", "native"]) memory_table(teams[p])
    for (p = 1; p <= team_count; p++)
        if (has["valgrind", "helgrind"] || has["valgrind", "drd"])
            slowdown_table("valgrind", teams[p], "Slowdown of valgrind's tools at " teams[p] " threads (smaller sizes)", \
                           "helgrind drd", "kernel|size|native s|Helgrind|DRD")
    if (has["main", "serial"] || has["main", "free"])
        recorded_table()
    for (kernel in load_key) { load_table(); break }
    goal_table()
    print "Times are medians of " repeat " interleaved repetitions; x is the slowdown to native."
}
