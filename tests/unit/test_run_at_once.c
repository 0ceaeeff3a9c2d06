/* Several runs at once in one process: each has its own outcome, output and trace; nothing leaks,
 * nothing is left running, and none ends another's processes. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "model/describe.h"
#include "run/run.h"
#include "run/schedule.h"

#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS 12

static unsigned open_descriptors(void) {
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count;
}

static bool has_children(void) { return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD; }
static bool exists(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

/* ---- plain runs of a shell ------------------------------------------------------------------ */

struct worker {
    pthread_t thread;
    unsigned number;
    const char *program; /* an instrumented one; NULL: a shell */
    char complaint[800]; /* cmocka's checks are for its own thread */
};

/* What a run of the shell does, and how that ends. */
static const struct {
    const char *script;
    enum hd_outcome_kind kind;
    const char *words;
} kinds[] = {
    {"exit 0", HD_OUTCOME_PASSED, "exited with status 0"},
    {"exit 7", HD_OUTCOME_EXIT, "exited with status 7"},
    {"kill -SEGV $$", HD_OUTCOME_SIGNAL, "killed by signal 11 (Segmentation fault)"},
    {"sleep 100", HD_OUTCOME_HANG, "did not end within 0.2 seconds"},
    {"setsid sleep 100 & exit 4", HD_OUTCOME_EXIT, "exited with status 4"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static bool run_shell(struct worker *w, unsigned round) {
    unsigned kind = (w->number + round) % KINDS;
    char shell[] = "/bin/sh", c[] = "-c", script[200], expected[40];
    snprintf(script, sizeof script, "echo worker %u round %u; %s", w->number, round,
             kinds[kind].script);
    int length = snprintf(expected, sizeof expected, "worker %u round %u\n", w->number, round);
    char *argv[] = {shell, c, script, NULL};
    struct hd_job job = {
        .program = {.argv = argv, .limit_ms = kinds[kind].kind == HD_OUTCOME_HANG ? 200 : 60000}};
    struct hd_result result;
    struct hd_error error;
    if (!hd_run(&job, NULL, &result, &error)) {
        snprintf(w->complaint, sizeof w->complaint, "%.300s", error.message);
        return false;
    }
    size_t bytes;
    char *text = hd_result_text(&result, 1, 1000, &bytes);
    bool good = result.outcome.kind == kinds[kind].kind &&
                strcmp(result.outcome.words, kinds[kind].words) == 0 && bytes == (size_t)length &&
                strcmp(text, expected) == 0;
    if (!good)
        snprintf(w->complaint, sizeof w->complaint, "%s: %.100s, %.100s", script,
                 result.outcome.words, text);
    free(text);
    hd_result_free(&result);
    return good;
}

/* ---- steered runs --------------------------------------------------------------------------- */

/* The order of the run is taken again, and checked by its trace. */
static bool follows(const struct hd_job *job, const char *trace_path, struct worker *w) {
    struct hd_model model;
    struct hd_error error;
    if (!hd_model_load(trace_path, NULL, NULL, &model, &error)) return false;
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_schedule schedule;
    bool good = hd_schedule_from_run(&schedule, &model, describe, &error);
    hd_describe_close(describe);
    hd_model_free(&model);
    if (!good) return false;
    struct hd_job again = {.program = job->program, .steering = hd_schedule_steering(&schedule)};
    struct hd_result result;
    good = hd_run(&again, NULL, &result, &error);
    if (good) {
        good = result.replay.verdict == HD_REPLAYED_DID_NOT_FAIL && result.replay.reached &&
               !result.replay.unchecked;
        if (!good) snprintf(w->complaint, sizeof w->complaint, "%.700s", result.replay.words);
        hd_result_free(&result);
    }
    hd_schedule_free(&schedule);
    return good;
}

static bool run_steered(struct worker *w, unsigned round) {
    char path[100], status[16];
    snprintf(path, sizeof path, "%s", w->program);
    snprintf(status, sizeof status, "%u", 10 * w->number + round % 10);
    char *argv[] = {path, status, NULL};
    struct hd_job job = {.program = {.argv = argv, .limit_ms = 60000},
                         .steering = {.scheduler = round % 2 ? HD_SCHED_SERIAL : HD_SCHED_FREE,
                                      .policy = HD_POLICY_RANDOM,
                                      .seed = round + 1,
                                      .quantum = 3}};
    job.program.good_status = (int)(10 * w->number + round % 10);
    struct hd_result result;
    struct hd_trace trace;
    struct hd_error error = {.message = ""};
    bool good = hd_run(&job, NULL, &result, &error);
    if (!good) {
        snprintf(w->complaint, sizeof w->complaint, "%.300s", error.message);
        return false;
    }
    good = result.outcome.kind == HD_OUTCOME_PASSED && result.recorded && result.end.whole &&
           hd_trace_load(result.trace_path, NULL, &trace, &error);
    if (good) { /* its own command, and all of its threads */
        char command[120];
        snprintf(command, sizeof command, "%s %s", path, status);
        good = strcmp(trace.command, command) == 0 && trace.threads == 3;
        hd_trace_free(&trace);
    }
    if (good && round % 2) good = follows(&job, result.trace_path, w);
    if (!good && w->complaint[0] == '\0')
        snprintf(w->complaint, sizeof w->complaint, "%s %s: %.150s %.150s", path, status,
                 result.outcome.words, error.message);
    hd_result_free(&result);
    return good;
}

static void *work(void *context) {
    struct worker *w = context;
    for (unsigned round = 0; round < ROUNDS; round++)
        if (!(w->program != NULL ? run_steered : run_shell)(w, round)) break;
    return NULL;
}

static void run_all(const char *program) {
    struct worker worker[THREADS], first = {.program = program};
    /* The program's symbols are opened once and kept. */
    if (program != NULL && !run_steered(&first, 1)) fail_msg("%s", first.complaint);
    unsigned before = open_descriptors();
    for (unsigned i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){.number = i, .program = program};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(worker[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        if (worker[i].complaint[0] != '\0') fail_msg("worker %u: %s", i, worker[i].complaint);
    assert_int_equal(open_descriptors(), before);
    assert_false(has_children());
}

static void shells(void **state) {
    (void)state;
    run_all(NULL);
}

static const char source[] =
    "#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic int x;\n"
    "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
    "static void *work(void *unused) {\n"
    "    for (int i = 0; i < 50; i++) {\n"
    "        pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);\n    }\n    return unused;\n}\n"
    "int main(int argc, char **argv) {\n    pthread_t t[2];\n"
    "    if (argc > 2 && fork() == 0) { setsid(); sleep(100); }\n"
    "    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, NULL);\n"
    "    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);\n"
    "    return x == 100 ? atoi(argv[1]) : 99;\n}\n";

static void compile(void) {
    const char *heddle = getenv("HEDDLE");
    if (heddle == NULL) skip(); /* run by hand */
    FILE *file = fopen("counts.c", "w");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
    char command[600];
    snprintf(command, sizeof command, "%s cc -g -O1 -o ./counts counts.c -pthread", heddle);
    assert_int_equal(system(command), 0);
}

static void steered(void **state) {
    (void)state;
    compile();
    run_all("./counts");
}

/* ---- leftovers of one run while another goes on --------------------------------------------- */

static void *run_long(void *context) {
    struct hd_host *host = context;
    char shell[] = "/bin/sh", c[] = "-c", script[] = "setsid sleep 200 & echo $!; sleep 100";
    char *argv[] = {shell, c, script, NULL};
    struct hd_job job = {.program = {.argv = argv}};
    struct hd_result result;
    struct hd_error error;
    if (!hd_run(&job, host, &result, &error)) return NULL;
    hd_result_free(&result);
    return NULL;
}

static pid_t heard;
static void hear(void *context, int stream, const char *bytes, size_t count) {
    (void)context;
    (void)count;
    if (stream == 1) __atomic_store_n(&heard, atoi(bytes), __ATOMIC_SEQ_CST);
}

static bool session_lives(const char *name) {
    char command[100];
    snprintf(command, sizeof command, "pgrep -f '^%s' >/dev/null", name);
    return system(command) == 0;
}

/* A steered program that forks is told by its channel: its child is ended with it, and the other
 * run's child, which is nobody's either, is not. */
static void leftovers(void **state) {
    (void)state;
    compile();
    struct hd_interrupt stop = {0};
    struct hd_host host = {.stop = &stop, .echo = hear};
    pthread_t thread;
    heard = 0;
    pthread_create(&thread, NULL, run_long, &host);
    for (int i = 0; i < 2000 && __atomic_load_n(&heard, __ATOMIC_SEQ_CST) == 0; i++) usleep(10000);
    assert_true(heard > 0);
    char path[] = "./counts", status[] = "0", forks[] = "fork";
    char *argv[] = {path, status, forks, NULL};
    struct hd_job job = {.program = {.argv = argv},
                         .steering = {.scheduler = HD_SCHED_SERIAL, .no_trace = true}};
    struct hd_result result;
    struct hd_error error;
    if (!hd_run(&job, NULL, &result, &error)) fail_msg("%s", error.message);
    assert_int_equal(result.outcome.kind, HD_OUTCOME_PASSED);
    hd_result_free(&result);
    assert_false(session_lives("./counts 0 fork"));
    assert_true(exists(heard));
    stop.signal = SIGTERM;
    pthread_join(thread, NULL);
    assert_false(exists(heard));
    assert_false(has_children());
}

/* ---- when memory is out, and on old kernels -------------------------------------------------- */

/* Runs a test in a process of its own; its wait status. */
static int in_child(void (*test)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        test();
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

static void lose_memory(void) {
    struct hd_host host = {.echo = hear};
    pthread_t thread;
    heard = 0;
    pthread_create(&thread, NULL, run_long, &host);
    for (int i = 0; i < 2000 && __atomic_load_n(&heard, __ATOMIC_SEQ_CST) == 0; i++) usleep(10000);
    FILE *file = fopen("left", "w");
    fprintf(file, "%d", (int)heard);
    fclose(file);
    if (!freopen("/dev/null", "w", stderr)) _exit(3);
    hd_out_of_memory();
}

static void out_of_memory(void **state) {
    (void)state;
    int status = in_child(lose_memory), pid = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    FILE *file = fopen("left", "r");
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    assert_true(pid > 0);
    assert_false(exists(pid));
}

/* Linux before 5.3 has no pidfd_open. */
static void forbid_pidfd(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
    if (syscall(SYS_pidfd_open, getpid(), 0) != -1 || errno != ENOSYS) _exit(4);
    struct worker w = {.number = 1};
    for (unsigned round = 0; round < KINDS; round++)
        if (!run_shell(&w, round)) _exit(5);
    w.program = "./counts";
    for (unsigned round = 0; round < 4; round++)
        if (!run_steered(&w, round)) _exit(6);
}

static void old_kernel(void **state) {
    (void)state;
    compile();
    int status = in_child(forbid_pidfd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip(); /* filters can't be made here */
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shells),     cmocka_unit_test(steered),       cmocka_unit_test(leftovers),
        cmocka_unit_test(old_kernel), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
