/* Runs that are forked from a program which waits before main, beside runs that execute it: the
 * same events at the same addresses, outcomes and output; the same process as far as the program
 * can look; nothing left running, whoever ends. Programs are those of tests/programs, all of them
 * if HEDDLE_TEST_FULL is set. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "model/build.h"
#include "model/describe.h"
#include "run/schedule.h"
#include "run/server.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct hd_error problem;

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...) {
    char *command;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&command, format, arguments) > 0);
    va_end(arguments);
    if (system(command) != 0) fail_msg("%s", command);
    free(command);
}

static const char *heddle(void) {
    const char *path = getenv("HEDDLE");
    if (path == NULL) skip(); /* run by hand */
    return path;
}

static void compile_text(const char *name, const char *text, const char *more) {
    char file[100];
    snprintf(file, sizeof file, "%s.c", name);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    shell("%s cc -g -O1 -o ./%s %s.c -pthread %s", heddle(), name, name, more);
}

static struct hd_result run(const struct hd_program *program, const struct hd_steering *steering,
                            const struct hd_host *host) {
    struct hd_job job = {.program = *program, .steering = *steering};
    struct hd_result result;
    if (!hd_run(&job, host, &result, &problem)) fail_msg("%s", problem.message);
    return result;
}

static const struct hd_steering first_steering = {.scheduler = HD_SCHED_SERIAL};

/* A server for the program; *waits: there is one that is ready. */
static struct hd_server *serve(const struct hd_program *program, struct hd_host *host,
                               bool *waits) {
    host->server = hd_server_new(NULL);
    struct hd_result result = run(program, &first_steering, host);
    hd_result_free(&result);
    struct hd_job job = {.program = *program, .steering = first_steering};
    assert_true(hd_server_prepare(host->server, &job, host, &problem));
    result = run(program, &first_steering, host);
    hd_result_free(&result);
    *waits = hd_server_runs(host->server) == 1;
    return host->server;
}

static bool has_children(void) { return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD; }

/* ---- the same events ------------------------------------------------------------------------ */

static bool same_column(const void *a, const void *b, size_t bytes) {
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

/* `anywhere`: but for addresses, and what is made of them (HD_NOTE_STATE). */
static bool same_columns(const struct hd_trace *x, const struct hd_trace *y, bool anywhere) {
    size_t n = x->events;
    return x->events == y->events && x->threads == y->threads && x->extras == y->extras &&
           x->modules == y->modules && same_column(x->thread, y->thread, n * sizeof *x->thread) &&
           same_column(x->kind, y->kind, n * sizeof *x->kind) &&
           same_column(x->flags, y->flags, n * sizeof *x->flags) &&
           (anywhere || same_column(x->operand, y->operand, n * sizeof *x->operand)) &&
           same_column(x->site, y->site, n * sizeof *x->site) &&
           same_column(x->stack, y->stack, n * sizeof *x->stack) &&
           same_column(x->calls, y->calls, n * sizeof *x->calls) &&
           same_column(x->branches, y->branches, n * sizeof *x->branches) &&
           (anywhere ||
            same_column(x->extra_value, y->extra_value, x->extras * sizeof *x->extra_value));
}

static bool same_trace(const struct hd_result *a, const struct hd_result *b, bool anywhere) {
    struct hd_trace x, y;
    struct hd_trace_options all = {.keep = HD_KEEP_ALL};
    if (!hd_trace_load(a->trace_path, &all, &x, &problem) ||
        !hd_trace_load(b->trace_path, &all, &y, &problem))
        fail_msg("%s", problem.message);
    bool same = same_columns(&x, &y, anywhere);
    for (uint32_t i = 0; same && i < x.modules; i++) {
        assert_string_equal(x.module[i].path, y.module[i].path);
        assert_int_equal(x.module[i].text_lo, y.module[i].text_lo);
    }
    assert_string_equal(x.command, y.command);
    hd_trace_free(&x);
    hd_trace_free(&y);
    return same;
}

static void same_run(const struct hd_result *a, const struct hd_result *b) {
    assert_int_equal(a->wait_status, b->wait_status);
    assert_int_equal(a->outcome.kind, b->outcome.kind);
    assert_string_equal(a->outcome.words, b->outcome.words);
    for (int stream = 1; stream < 3; stream++) {
        size_t bytes, other_bytes;
        char *text = hd_result_text(a, stream, 1 << 20, &bytes);
        char *other = hd_result_text(b, stream, 1 << 20, &other_bytes);
        assert_string_equal(text, other);
        free(text);
        free(other);
    }
}

static void compare(const char *name, const char *flags) {
    shell("%s cc -g -O1 %s -o ./%s %s/tests/programs/%s.c -pthread", heddle(), flags, name,
          HEDDLE_SOURCE_DIR, name);
    char path[100];
    snprintf(path, sizeof path, "./%s", name);
    char *argv[] = {path, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000};
    struct hd_host host = {0};
    bool waits;
    struct hd_server *server = serve(&program, &host, &waits);
    assert_true(waits);
    for (unsigned n = 0; n < 8; n++) {
        struct hd_steering steering = {.scheduler = HD_SCHED_SERIAL,
                                       .policy = n % 2 ? HD_POLICY_POS : HD_POLICY_RANDOM,
                                       .seed = n,
                                       .quantum = 1 + n,
                                       .direct = n < 4};
        struct hd_result plain = run(&program, &steering, NULL);
        struct hd_result forked = run(&program, &steering, &host);
        assert_int_equal(hd_server_runs(server), 2 + n);
        same_run(&plain, &forked);
        /* Where a new thread's stack is depends on whether an ended thread's has been given back:
         * executed runs differ in that too. A forked run is like one of them. */
        bool same = same_trace(&plain, &forked, false);
        hd_result_free(&plain);
        for (unsigned more = 0; !same && more < 50; more++) {
            plain = run(&program, &steering, NULL);
            same = same_trace(&plain, &forked, false);
            hd_result_free(&plain);
        }
        assert_true(same);
        hd_result_free(&forked);
    }
    hd_server_free(server);
    assert_false(has_children());
}

/* No two runs of such a program are sure to be the same, however they are started. */
static bool depends_on_time(const char *name) {
    char command[400];
    snprintf(command, sizeof command, "grep -qE 'sleep|aio_|timed|clock_' %s/tests/programs/%s.c",
             HEDDLE_SOURCE_DIR, name);
    return system(command) == 0;
}

static void events(void **state) {
    (void)state;
    static const char *const usual[] = {"counter_race", "abba_deadlock", "lost_wakeup",
                                        "shutdown_use_after_free", "c11_threads"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) compare(usual[i], "");
    if (getenv("HEDDLE_TEST_FULL") == NULL) return;
    DIR *directory = opendir(HEDDLE_SOURCE_DIR "/tests/programs");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char name[100];
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".c") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        if (depends_on_time(name)) continue;
        compare(name, "");
        compare(name, "-DFIXED");
    }
    closedir(directory);
}

/* ---- the same process ----------------------------------------------------------------------- */

/* Everything that it can see of itself and that the two ways of starting it could change. */
static const char looks[] =
    "#define _GNU_SOURCE\n#include <dirent.h>\n#include <errno.h>\n#include <fcntl.h>\n"
    "#include <linux/futex.h>\n#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n"
    "#include <stdlib.h>\n#include <string.h>\n#include <sys/prctl.h>\n#include <sys/resource.h>\n"
    "#include <sys/syscall.h>\n#include <unistd.h>\n"
    "static void *work(void *unused) { return unused; }\n"
    "static int built; __attribute__((constructor)) static void build(void) { built++; }\n"
    "int main(int argc, char **argv) {\n"
    "    sigset_t mask; int death = 0; void *head = NULL; size_t bytes = 0; struct rlimit core;\n"
    "    sigprocmask(SIG_SETMASK, NULL, &mask);\n"
    "    prctl(PR_GET_PDEATHSIG, &death);\n"
    "    syscall(SYS_get_robust_list, 0, &head, &bytes);\n"
    "    getrlimit(RLIMIT_CORE, &core);\n"
    "    printf(\"group %d session %d tid %d\\n\", getpgrp() == getpid(), getsid(0) == getpid(),\n"
    "           gettid() == getpid());\n"
    "    printf(\"mask %d death %d robust %p %zu core %lu\\n\", sigisemptyset(&mask), death, "
    "head,\n"
    "           bytes, (unsigned long)core.rlim_cur);\n"
    "    char *channel = getenv(\"HEDDLE_CHANNEL\");\n"
    "    printf(\"stack %p heap %p channel %zu at %p built %d\\n\", (void *)&mask, malloc(100),\n"
    "           strlen(channel), (void *)channel, built);\n"
    "    char text[100000] = \"\", own[200]; int fd = open(\"/proc/self/environ\", O_RDONLY);\n"
    "    ssize_t got = read(fd, text, sizeof text); close(fd);\n"
    "    snprintf(own, sizeof own, \"HEDDLE_CHANNEL=%s\", channel);\n"
    "    printf(\"environment %zd %d\\n\", got, memmem(text, got, own, strlen(own)) != NULL);\n"
    "    DIR *open_files = opendir(\"/proc/self/fd\");\n"
    "    for (struct dirent *e; (e = readdir(open_files)) != NULL;) printf(\"fd %s\\n\", "
    "e->d_name);\n"
    "    closedir(open_files);\n"
    "    for (int i = 1; i < 32; i++) { struct sigaction a; sigaction(i, NULL, &a);\n"
    "        if (a.sa_handler != SIG_DFL) printf(\"signal %d\\n\", i); }\n"
    "    pthread_mutexattr_t robust; pthread_mutex_t m; pthread_t t;\n"
    "    pthread_mutexattr_init(&robust); pthread_mutexattr_settype(&robust, "
    "PTHREAD_MUTEX_ERRORCHECK);\n"
    "    pthread_mutex_init(&m, &robust);\n"
    "    printf(\"lock %d\", pthread_mutex_lock(&m)); printf(\" again %d\\n\", "
    "pthread_mutex_lock(&m));\n"
    "    pthread_create(&t, NULL, work, NULL); printf(\"join %d\\n\", pthread_join(t, NULL));\n"
    "    int c = getchar(); printf(\"input %d parent %d\\n\", c, getppid());\n"
    "    fprintf(stderr, \"error\\n\");\n"
    "    switch (argc > 1 ? atoi(argv[1]) : 0) {\n"
    "    case 1: raise(SIGSEGV); break;\n"
    "    case 2: abort();\n"
    "    case 3: for (;;) pause();\n"
    "    case 4: if (fork() == 0) { setsid(); execlp(\"sleep\", \"sleep\", \"1001\", NULL); }\n"
    "    case 5: return 7;\n    }\n    return 0;\n}\n";

static void process(void **state) {
    (void)state;
    compile_text("looks", looks, "");
    shell("printf X > input");
    char path[] = "./looks", how[2] = "0";
    char *argv[] = {path, how, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000, .input = "input"};
    struct hd_host host = {0};
    bool waits;
    struct hd_server *server = serve(&program, &host, &waits);
    assert_true(waits);
    hd_server_free(server);
    for (how[0] = '0'; how[0] < '6'; how[0]++) {
        program.limit_ms = 60000;
        host.server = NULL;
        if (how[0] != '3') { /* which never ends */
            server = serve(&program, &host, &waits);
            assert_true(waits);
        } else { /* arguments are those that it was started with */
            how[0] = '0';
            server = serve(&program, &host, &waits);
            assert_true(waits);
            how[0] = '3';
            program.limit_ms = 300;
        }
        struct hd_result plain = run(&program, &first_steering, NULL);
        if (how[0] != '3') {
            struct hd_result forked = run(&program, &first_steering, &host);
            same_run(&plain, &forked);
            assert_true(same_trace(&plain, &forked, false)); /* it makes one thread */
            hd_result_free(&forked);
        } else {
            assert_int_equal(plain.outcome.kind, HD_OUTCOME_HANG);
        }
        hd_result_free(&plain);
        if (system("pgrep -f '^sleep 1001' >/dev/null") == 0) fail_msg("a process is left");
        hd_server_free(server);
    }
    assert_false(has_children());
}

/* ---- runs that begin at a function ---------------------------------------------------------- */

/* Its start-up does what a policy, a file or the C library could tell it apart by. */
static const char starts[] =
    "#define _GNU_SOURCE\n#include <pthread.h>\n#include <sched.h>\n#include <stdatomic.h>\n"
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
    "static int table[3000], sum, *volatile shared; static _Atomic int flag; static FILE "
    "*log_file;\n"
    "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
    "static void start(void) {\n"
    "    for (int i = 0; i < 3000; i++) { table[i] = i; sum += table[i / 2]; }\n"
    "    for (int i = 0; i < 500; i++) if (atomic_load(&flag)) break;\n"
    "    for (int i = 0; i < 40; i++) { free(strdup(\"a string\")); if (i % 9 == 0) sched_yield(); "
    "}\n"
    "    for (int i = 0; i < 20; i++) { char *line = NULL; size_t room = 0; FILE *f = "
    "fopen(\"lines\", \"r\");\n"
    "        while (getline(&line, &room, f) > 0) sum += (int)strlen(line); fclose(f); free(line); "
    "usleep(10); }\n"
    "    shared = malloc(1 << 20); char c; if (read(0, &c, 1) != 1) exit(1); printf(\"started "
    "%c\\n\", c); fflush(stdout);\n"
    "    printf(\"in the buffer\\n\"); log_file = fopen(\"log\", \"w+\"); fprintf(log_file, "
    "\"begin\\n\"); fflush(log_file);\n"
    "}\n"
    "static void *work(void *unused) {\n"
    "    for (int i = 0; i < 5; i++) { shared[i % 2]++; pthread_mutex_lock(&m); sum += table[i]; "
    "pthread_mutex_unlock(&m);\n"
    "        atomic_fetch_add(&flag, 1); }\n"
    "    return unused;\n}\n"
    "__attribute__((noinline)) void go(void) {\n"
    "    pthread_t t[3]; shared[0] = shared[1] = 0;\n"
    "    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, NULL);\n"
    "    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);\n"
    "    fprintf(log_file, \"end\\n\"); rewind(log_file); char text[100] = {0};\n"
    "    size_t n = fread(text, 1, 99, log_file); char c; if (read(0, &c, 1) != 1) exit(1);\n"
    "    printf(\"sum %d of %d, %zu %s%c\\n\", sum, shared[0] > 0, n, text, c);\n"
    "}\nint main(void) { start(); go(); go(); return 0; }\n";

/* Runs of all policies, executed and not, are the same. */
static void compare_begun(const struct hd_program *program, struct hd_host *host,
                          const struct hd_steering *steering, uint64_t forked_before) {
    struct hd_job job = {.program = *program, .steering = *steering};
    if (!hd_server_prepare(host->server, &job, host, &problem)) fail_msg("%s", problem.message);
    struct hd_result plain = run(program, steering, NULL);
    struct hd_result forked = run(program, steering, host);
    assert_int_equal(hd_server_runs(host->server), forked_before + 1);
    same_run(&plain, &forked);
    if (!same_trace(&plain, &forked, true))
        fail_msg("policy %d quantum %u direct %d", (int)steering->policy, steering->quantum,
                 steering->direct);
    hd_result_free(&plain);
    if (steering->policy == HD_POLICY_REPLAY) {
        hd_result_free(&forked);
        return;
    }
    /* the schedule of the forked run, followed by an executed one */
    struct hd_model model;
    struct hd_schedule schedule;
    if (!hd_model_load(forked.trace_path, NULL, NULL, &model, &problem))
        fail_msg("%s", problem.message);
    struct hd_describe *describe = hd_describe_open(&model);
    if (!hd_schedule_from_run(&schedule, &model, describe, &problem))
        fail_msg("%s", problem.message);
    struct hd_steering again = hd_schedule_steering(&schedule);
    struct hd_result replayed = run(program, &again, NULL);
    assert_int_not_equal(replayed.replay.verdict, HD_REPLAYED_DIVERGED);
    same_run(&replayed, &forked);
    hd_result_free(&replayed);
    hd_result_free(&forked);
    compare_begun(program, host, &again, forked_before + 1);
    hd_schedule_free(&schedule);
    hd_describe_close(describe);
    hd_model_free(&model);
}

static void begins(void **state) {
    (void)state;
    compile_text("starts", starts, "");
    shell("seq 1 30 > lines; printf XYZ > input");
    char path[] = "./starts";
    char *argv[] = {path, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000, .input = "input"};
    struct hd_host host = {.server = hd_server_new("go")};
    struct hd_result first = run(&program, &first_steering, &host);
    hd_result_free(&first);
    static const enum hd_policy policy[] = {HD_POLICY_ROUND_ROBIN, HD_POLICY_RANDOM, HD_POLICY_POS,
                                            HD_POLICY_PCT};
    for (unsigned n = 0; n < 8; n++) {
        struct hd_steering steering = {.scheduler = HD_SCHED_SERIAL,
                                       .policy = policy[n % 4],
                                       .seed = n,
                                       .quantum = n < 4 ? 7 : 1000 + n,
                                       .length = 20000,
                                       .depth = 4,
                                       .direct = n >= 4,
                                       .states = n >= 6};
        compare_begun(&program, &host, &steering, 2 * n);
    }
    hd_server_free(host.server);
    assert_false(has_children());
}

/* Why runs can't begin there. */
static void begins_not(const char *name, const char *function, const char *reason) {
    char *argv[] = {(char *)name, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000};
    struct hd_host host = {.server = hd_server_new(function)};
    struct hd_job job = {.program = program, .steering = first_steering};
    assert_true(hd_server_prepare(host.server, &job, &host, &problem)); /* not known yet */
    struct hd_result first = run(&program, &first_steering, &host);
    hd_result_free(&first);
    assert_false(hd_server_prepare(host.server, &job, &host, &problem));
    char expected[200];
    snprintf(expected, sizeof expected, "runs can't begin at %s: %s", function, reason);
    assert_string_equal(problem.message, expected);
    hd_server_free(host.server);
    assert_false(has_children());
}

static void refused(void **state) {
    (void)state;
    compile_text(
        "refuses",
        "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
        "#define F __attribute__((noinline, used))\n"
        "static void *work(void *unused) { return unused; }\n"
        "F void never(void) { __asm__ volatile(\"\"); }\n"
        "F void mapped(void) { __asm__ volatile(\"\"); }\n"
        "F void piped(void) { __asm__ volatile(\"\"); }\n"
        "F void after(void) { __asm__ volatile(\"\"); }\n"
        "int main(int argc, char **argv) {\n"
        "    pthread_t t; int ends[2];\n"
        "    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, "
        "-1, 0);\n"
        "    mapped(); munmap(memory, 4096);\n"
        "    if (pipe(ends) != 0) return 1;\n"
        "    if (dup2(ends[0], 77) != 77) return 1;\n    close(ends[0]); close(ends[1]);\n"
        "    piped(); close(77);\n"
        "    pthread_create(&t, NULL, work, argv); pthread_join(t, NULL);\n"
        "    after(); if (argc > 9) never();\n    return 0;\n}\n",
        "");
    begins_not("./refuses", "nowhere", "./refuses has no such function");
    begins_not("./refuses", "after", "the program makes threads before");
    begins_not("./refuses", "piped",
               "descriptor 77, which is no plain file, is open there and would be shared by all "
               "runs");
    char *argv[] = {(char *)"./refuses", NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000};
    struct hd_host host = {.server = hd_server_new("mapped")};
    struct hd_job job = {.program = program, .steering = first_steering};
    struct hd_result first = run(&program, &first_steering, &host);
    hd_result_free(&first);
    assert_false(hd_server_prepare(host.server, &job, &host, &problem));
    assert_non_null(strstr(problem.message, "is shared with other processes"));
    hd_server_free(host.server);
    compile_text(
        "never",
        "__attribute__((noinline, used)) void never(void) { __asm__ volatile(\"\"); }\n"
        "int main(int argc, char **argv) { (void)argv; if (argc > 9) never(); return 0; }\n",
        "");
    begins_not("./never", "never", "the program ended, or took too long, before it called it");
}

/* ---- runs that hang, and servers that die --------------------------------------------------- */

static const char waiting[] =
    "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n"
    "static void *work(void *unused) { return unused; }\n"
    "int main(void) {\n    pthread_t t; char c;\n    pthread_create(&t, NULL, work, NULL);\n"
    "    pthread_join(t, NULL);\n    if (read(0, &c, 1) == 1 && c == 'H') for (;;) pause();\n"
    "    return 0;\n}\n";

static pid_t only_child(void) {
    char text[64] = "";
    FILE *file = popen("pgrep -f '^./waiting'", "r");
    if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
    pclose(file);
    return atoi(text);
}

static bool is_gone(pid_t pid) {
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) usleep(10000);
    return kill(pid, 0) != 0;
}

static void hangs(void **state) {
    (void)state;
    compile_text("waiting", waiting, "");
    shell("printf H > hang");
    char path[] = "./waiting";
    char *argv[] = {path, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000};
    struct hd_host host = {0};
    bool waits;
    struct hd_server *server = serve(&program, &host, &waits);
    assert_true(waits);
    program.input = "hang";
    program.limit_ms = 300;
    struct hd_result result = run(&program, &first_steering, &host);
    assert_int_equal(result.outcome.kind, HD_OUTCOME_HANG);
    assert_int_equal(hd_server_runs(server), 2);
    hd_result_free(&result);
    /* The program that waits is killed: runs go on without. */
    pid_t waiting_pid = only_child();
    assert_true(waiting_pid > 0);
    kill(waiting_pid, SIGKILL);
    program.input = NULL;
    program.limit_ms = 60000;
    for (unsigned i = 0; i < 2; i++) {
        result = run(&program, &first_steering, &host);
        assert_int_equal(result.outcome.kind, HD_OUTCOME_PASSED);
        hd_result_free(&result);
    }
    assert_int_equal(hd_server_runs(server), 2);
    hd_server_free(server);
    assert_false(has_children());
    assert_int_equal(only_child(), 0);
}

/* A process with a server is killed, in the middle of a run. */
static void killed(void **state) {
    (void)state;
    compile_text("waiting", waiting, "");
    shell("printf H > hang");
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char path[] = "./waiting";
        char *argv[] = {path, NULL};
        struct hd_program program = {.argv = argv};
        struct hd_host host = {0};
        bool waits;
        serve(&program, &host, &waits);
        if (write(ready[1], &waits, 1) == 1) {
            program.input = "hang";
            run(&program, &first_steering, &host);
        }
        _exit(0);
    }
    bool waits = false;
    assert_int_equal(read(ready[0], &waits, 1), 1);
    assert_true(waits);
    usleep(200000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 1000 && only_child() != 0; i++) usleep(10000);
    assert_int_equal(only_child(), 0);
    assert_true(is_gone(pid));
}

/* ---- programs that can't wait --------------------------------------------------------------- */

static void plain_start(const struct hd_program *program, const char *output) {
    struct hd_host host = {0};
    bool waits;
    struct hd_server *server = serve(program, &host, &waits);
    assert_false(waits);
    struct hd_result result = run(program, &first_steering, &host);
    size_t bytes;
    char *text = hd_result_text(&result, 1, 1000, &bytes);
    assert_string_equal(text, output);
    free(text);
    hd_result_free(&result);
    assert_int_equal(hd_server_runs(server), 0);
    hd_server_free(server);
    assert_false(has_children());
}

/* A script does something before it executes the program, also if that has the same process. */
static void scripts(void **state) {
    (void)state;
    compile_text("waiting", waiting, "");
    char sh[] = "/bin/sh", c[] = "-c", text[] = "echo x >> count; wc -l < count; exec ./waiting";
    char *argv[] = {sh, c, text, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000};
    plain_start(&program, "3\n");
}

static void threads(void **state) {
    (void)state;
    FILE *file = fopen("early.c", "w");
    assert_non_null(file);
    fputs("#include <pthread.h>\n#include <unistd.h>\n"
          "static void *rest(void *unused) { for (;;) pause(); return unused; }\n"
          "__attribute__((constructor)) static void begin(void) {\n"
          "    pthread_t t; pthread_create(&t, 0, rest, 0); }\nint early(void) { return 0; }\n",
          file);
    fclose(file);
    shell("cc -shared -fPIC -o libearly.so early.c -pthread");
    compile_text("late",
                 "#include <pthread.h>\n#include <stdio.h>\nint early(void);\n"
                 "static void *work(void *unused) { return unused; }\n"
                 "int main(void) {\n    pthread_t t;\n    pthread_create(&t, NULL, work, NULL);\n"
                 "    pthread_join(t, NULL);\n    puts(\"late\");\n    return early();\n}\n",
                 "-Wl,-rpath,. -L. -learly");
    char path[] = "./late";
    char *argv[] = {path, NULL};
    struct hd_program program = {.argv = argv, .limit_ms = 60000};
    plain_start(&program, "late\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(events),  cmocka_unit_test(process),
                                       cmocka_unit_test(begins),  cmocka_unit_test(refused),
                                       cmocka_unit_test(hangs),   cmocka_unit_test(killed),
                                       cmocka_unit_test(scripts), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
