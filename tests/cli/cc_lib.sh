# What the tests of `heddle cc` share: looking into object files and executables.
expect_instrumented() { # OBJECT-OR-EXECUTABLE
    nm "$1" | grep -q ' U __tsan_\(read\|write\|func_entry\)' || { nm "$1"; fail "$1 is not instrumented ($compiler)"; }
}
expect_plain() { # OBJECT
    nm "$1" | grep -q '__tsan_\|__sanitizer\|__heddle' && { nm "$1"; fail "$1 is instrumented ($compiler)"; }
    return 0
}
# Branches are counted in place, without a call.
expect_branches() { # OBJECT-OR-EXECUTABLE
    nm "$1" | grep -q ' U __heddle_branched$' || { nm "$1"; fail "$1 counts no branches ($compiler)"; }
    nm "$1" | grep -q __sanitizer_cov_trace_pc && fail "$1 still calls the hook ($compiler)"
    return 0
}
# Branches are counted by calls: what was not assembled by the stand-in for the assembler.
expect_branch_calls() { # OBJECT-OR-EXECUTABLE
    nm "$1" | grep -q ' U __sanitizer_cov_trace_pc$' || { nm "$1"; fail "$1 calls no hook ($compiler)"; }
    nm "$1" | grep -q __heddle_branched && fail "$1 counts in place ($compiler)"
    return 0
}
expect_no_branches() { nm "$1" | grep -q '__sanitizer_cov\|__heddle_branched' && fail "$1 counts branches ($compiler)"; return 0; }

needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'; }
# The runtime is needed, first of all libraries, and no sanitizer's runtime is.
expect_runtime() { # EXECUTABLE-OR-LIBRARY
    [ "$(needed "$1" | head -1)" = libheddle_rt.so ] || { needed "$1"; fail "$1 does not need the runtime first ($compiler)"; }
    needed "$1" | grep -q 'tsan\|asan\|ubsan' && { needed "$1"; fail "$1 needs a sanitizer's runtime ($compiler)"; }
    nm "$1" | grep -q ' [TtWw] __tsan_read4' && fail "$1 has ThreadSanitizer's runtime inside ($compiler)"
    return 0
}
expect_no_runtime() { needed "$1" | grep -q heddle && fail "$1 needs the runtime ($compiler)"; return 0; }
cc() { expect_status 0 "$HEDDLE" cc "$@"; }
cxx() { expect_status 0 "$HEDDLE" c++ "$@"; }
