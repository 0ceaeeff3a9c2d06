# What the tests of campaigns share; sourced after lib.sh.

# What a hunt printed, without its times.
body() { # FILE
    sed -E 's/[0-9.]+ s$/TIME/; s/[0-9.]+ seconds/TIME/' "$1"
}

same_page() { # FILE FILE
    diff <(body "$1") <(body "$2") >.difference || { cat .difference; fail "$1 and $2 differ"; }
}

# A field of `heddle campaign --format json`.
field() { # FILE NAME
    "$HEDDLE" campaign --format json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

# What is in a campaign file: jobs with how they ended, no rows, times or machines.
results() { # FILE
    python3 - "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in db.execute("SELECT job, nth, outcome FROM result ORDER BY job, nth"):
    print(*row)
END
}

# Six threads' worth of orders under one lock: ninety ways, no failure.
write_ways() { # FILE
    cat >"$1" <<'END'
#include <pthread.h>
#include <unistd.h>
static int x, y, z;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *first(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        x++;
        pthread_mutex_unlock(&m);
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        y += x;
        pthread_mutex_unlock(&m);
    }
    return unused;
}
static void *third(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        z += y + x;
        x += z;
        pthread_mutex_unlock(&m);
    }
    return unused;
}
int main(void) {
    pthread_t thread[3];
    pthread_create(&thread[0], NULL, first, NULL);
    pthread_create(&thread[1], NULL, second, NULL);
    pthread_create(&thread[2], NULL, third, NULL);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    usleep(SLEEP);
    return 0;
}
END
}

need_mpi() {
    command -v mpirun >/dev/null || skip "no mpirun: Open MPI is not installed (openmpi-bin)"
    mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    # Open MPI keeps memory until the process ends, in modules that it has unloaded by then: no list can
    # name them. See look_for_leaks.
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    mpirun -n 2 true 2>.mpi || { cat .mpi; skip "mpirun does not work here"; }
}

# In a build with sanitizers: every rank looks for leaks of heddle's own. For that, Open MPI's modules stay
# loaded, so that what it keeps can be told from the rest (vasprintf is its own: how it was
# called is not seen, and no rank of heddle's does). Leaks end a rank with a status of their own.
look_for_leaks() {
    ldd "$HEDDLE" | grep -q libasan || return 0
    echo 'int dlclose(void *module); int dlclose(void *module) { (void)module; return 0; }' >keep.c
    cc -shared -fPIC -o keep.so keep.c || fail "no compiler"
    printf 'leak:%s\n' libmpi libopen- libpmix libevent libhwloc mca_ libdl- ld-linux vasprintf >leaks.txt
    mpirun() {
        command mpirun -x LD_PRELOAD="$work/keep.so" -x LSAN_OPTIONS="suppressions=$work/leaks.txt:print_suppressions=0" \
            -x ASAN_OPTIONS="${ASAN_OPTIONS%:detect_leaks=0}:detect_leaks=1:verify_asan_link_order=0:exitcode=23" "$@"
    }
}
