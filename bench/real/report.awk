# The table of bench/real/run's measurements (tab-separated; see `measure` there). Variable: markdown.

BEGIN {
    FS = "\t"
    columns = split("program|job|tool|wall s|to native|to TSan|output|trace whole|left running|hook calls, M|events, M|file, MB", header, "|")
    for (i = 1; i <= columns; i++) put(0, i, header[i])
}

{
    job = $1 SUBSEP $2
    if ($3 == "native") native[job] = $4
    if ($3 == "tsan") tsan[job] = $4
    n++
    for (i = 1; i <= 3; i++) put(n, i, $i)
    put(n, 4, $4)
    put(n, 5, native[job] > 0 ? sprintf("%.1fx", $4 / native[job]) : "-")
    put(n, 6, tsan[job] > 0 ? sprintf("%.2f", $4 / tsan[job]) : "-")
    put(n, 7, $5); put(n, 8, $6); put(n, 9, $7)
    put(n, 10, $8 == "-" ? "-" : sprintf("%.2f", $8 / 1e6))
    put(n, 11, $9 == "-" ? "-" : sprintf("%.2f", $9 / 1e6))
    put(n, 12, $10 == "-" ? "-" : sprintf("%.2f", $10 / 1e6))
}

function put(row, column, text) {
    cell[row, column] = text
    if (length(text) > width[column]) width[column] = length(text)
}
function dashes(count,    s) { s = ""; while (count-- > 0) s = s "-"; return s }

END {
    for (r = 0; r <= n; r++) {
        line = rule = markdown ? "|" : ""
        for (i = 1; i <= columns; i++) {
            left = i <= 3 ? "-" : ""
            line = line sprintf(markdown ? " %" left width[i] "s |" : "%" left width[i] "s  ", cell[r, i])
            rule = rule dashes(width[i] + (i <= 3 ? 2 : 1)) (i <= 3 ? "" : ":") "|"
        }
        print line
        if (r == 0 && markdown) print rule
    }
}
