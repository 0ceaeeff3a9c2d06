/* Runs of shell commands, as plain programs: how they end is judged right, and nothing that they
 * started outlives them. Steered programs are in tests/cli/replay*.test. */
#define _GNU_SOURCE
#include "run/process.h"
#include "run/run.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct hd_error problem;

static struct hd_result run_there(struct hd_program program, const struct hd_host *host,
                                  const char *script) {
    char shell[] = "/bin/sh", c[] = "-c";
    char *text = strdup(script);
    char *argv[] = {shell, c, text, NULL};
    program.argv = argv;
    struct hd_job job = {.program = program};
    struct hd_result run;
    problem.message[0] = '\0';
    if (!hd_run(&job, host, &run, &problem)) fail_msg("%s: %s", script, problem.message);
    free(text);
    return run;
}

static struct hd_result run_with(struct hd_program program, const char *script) {
    return run_there(program, NULL, script);
}

static struct hd_outcome outcome_of(struct hd_program program, const char *script) {
    struct hd_result run = run_with(program, script);
    struct hd_outcome outcome = run.outcome;
    hd_result_free(&run);
    return outcome;
}

static void expect(struct hd_program program, const char *script, enum hd_outcome_kind kind,
                   const char *words) {
    struct hd_outcome outcome = outcome_of(program, script);
    if (outcome.kind != kind || strcmp(outcome.words, words) != 0)
        fail_msg("%s: %s (%s) instead of %s (%s)", script, hd_outcome_name(outcome.kind),
                 outcome.words, hd_outcome_name(kind), words);
}

static void ends(void **state) {
    (void)state;
    struct hd_program plain = {0}, three = {.good_status = 3}, short_time = {.limit_ms = 300};
    expect(plain, "exit 0", HD_OUTCOME_PASSED, "exited with status 0");
    expect(plain, "exit 3", HD_OUTCOME_EXIT, "exited with status 3");
    expect(three, "exit 3", HD_OUTCOME_PASSED, "exited with status 3");
    expect(three, "exit 0", HD_OUTCOME_EXIT, "exited with status 0");
    expect(plain, "kill -SEGV $$", HD_OUTCOME_SIGNAL, "killed by signal 11 (Segmentation fault)");
    expect(plain, "kill -ABRT $$", HD_OUTCOME_SIGNAL, "killed by signal 6 (Aborted)");
    expect(plain, "echo >&2; echo \"a: a.c:7: f: Assertion \\`x' failed.\" >&2; kill -ABRT $$",
           HD_OUTCOME_ASSERTION, "assertion failed: a: a.c:7: f: Assertion `x' failed");
    expect(plain, "echo 'Assertion' >&2", HD_OUTCOME_PASSED, "exited with status 0");
    expect(plain, "echo '==7==ERROR: AddressSanitizer: heap-use-after-free' >&2; exit 1",
           HD_OUTCOME_SANITIZER, "sanitizer: ==7==ERROR: AddressSanitizer: heap-use-after-free");
    expect(short_time, "sleep 60", HD_OUTCOME_HANG, "did not end within 0.3 seconds");
    expect(short_time, "trap '' TERM INT; sleep 60; sleep 60", HD_OUTCOME_HANG,
           "did not end within 0.3 seconds");
    struct hd_program chatty = {.most_output = 100000};
    expect(chatty, "yes", HD_OUTCOME_HANG, "its output did not end");
}

static void oracles(void **state) {
    (void)state;
    struct hd_program program = {.oracle =
                                     "grep -q good && test \"$HEDDLE_STATUS\" = 4 && grep -q "
                                     "err \"$HEDDLE_STDERR\" && grep -q good \"$HEDDLE_STDOUT\""};
    expect(program, "echo good; echo err >&2; exit 4", HD_OUTCOME_PASSED, "exited with status 4");
    expect(program, "echo good; exit 4", HD_OUTCOME_ORACLE,
           "the oracle rejected the run (status 1)");
    expect(program, "echo bad; echo err >&2; exit 4", HD_OUTCOME_ORACLE,
           "the oracle rejected the run (status 1)");
    expect(program, "kill -SEGV $$", HD_OUTCOME_SIGNAL, "killed by signal 11 (Segmentation fault)");
    char shell[] = "/bin/true";
    char *argv[] = {shell, NULL};
    struct hd_job lost = {.program = {.argv = argv, .oracle = "exec /no/such/oracle 2>/dev/null"}};
    struct hd_result run;
    assert_false(hd_run(&lost, NULL, &run, &problem));
    assert_non_null(strstr(problem.message, "could not judge: command not found"));
}

static void outputs(void **state) {
    (void)state;
    FILE *file = fopen("reference", "w");
    assert_non_null(file);
    fputs("one\ntwo\n", file);
    fclose(file);
    struct hd_program program = {.output_like = "reference", .input = "reference"};
    expect(program, "cat", HD_OUTCOME_PASSED, "exited with status 0");
    expect(program, "echo one; echo to", HD_OUTCOME_OUTPUT,
           "standard output differs from the reference run's, first at byte 5");
    expect(program, "echo one", HD_OUTCOME_OUTPUT,
           "standard output differs from the reference run's, first at byte 4");
    expect(program, "cat; echo", HD_OUTCOME_OUTPUT,
           "standard output differs from the reference run's, first at byte 8");
    struct hd_result a = run_with((struct hd_program){0}, "echo x; echo y >&2"),
                     b = run_with((struct hd_program){0}, "echo x"),
                     d = run_with((struct hd_program){0}, "echo y");
    assert_true(a.output_hash == b.output_hash);
    assert_true(a.output_hash != d.output_hash);
    size_t bytes;
    char *text = hd_result_text(&a, 2, 100, &bytes);
    assert_string_equal(text, "y\n");
    free(text);
    hd_result_free(&a);
    hd_result_free(&b);
    hd_result_free(&d);
}

static bool exists(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

/* Children in the group, in sessions of their own, and children of those. */
static void nothing_is_left(void **state) {
    (void)state;
    static const char *const script[] = {
        "sleep 100 & echo $!", "setsid sh -c 'echo $$; exec sleep 100' & sleep 0.2; exit 0",
        "setsid sh -c 'sleep 100 & echo $!; trap \"\" TERM; sleep 101' & sleep 0.2; kill -KILL $$",
        "(setsid sh -c '(sleep 100 & echo $!) ; exit') ; exit 0"};
    for (size_t i = 0; i < sizeof script / sizeof *script; i++) {
        struct hd_result run = run_with((struct hd_program){0}, script[i]);
        size_t bytes;
        char *text = hd_result_text(&run, 1, 100, &bytes);
        pid_t pid = atoi(text);
        assert_true(pid > 0);
        if (exists(pid)) fail_msg("%s: process %d still runs", script[i], (int)pid);
        free(text);
        hd_result_free(&run);
    }
}

/* A child of this process that was there before is not the run's to end. */
static void others_are_spared(void **state) {
    (void)state;
    pid_t own = fork();
    if (own == 0) {
        for (;;) pause();
    }
    struct hd_result run = run_with((struct hd_program){0}, "setsid sleep 100 & exit 0");
    hd_result_free(&run);
    assert_int_equal(waitpid(own, NULL, WNOHANG), 0);
    kill(own, SIGKILL);
    waitpid(own, NULL, 0);
}

static struct hd_interrupt stop;
static void on_signal(int number) {
    stop.signal = number;
    stop.times++;
}

static void interruption(void **state) {
    (void)state;
    struct hd_host host = {.stop = &stop};
    signal(SIGINT, on_signal);
    pid_t self = getpid(), helper = fork();
    if (helper == 0) {
        usleep(300000);
        kill(self, SIGINT);
        _exit(0);
    }
    struct hd_result run = run_there((struct hd_program){0}, &host, "trap '' INT; sleep 100");
    signal(SIGINT, SIG_DFL);
    assert_int_equal(stop.runs, 0);
    assert_int_equal(run.interrupted, SIGINT);
    assert_true(run.nanoseconds < 20000000000u);
    hd_result_free(&run);
    waitpid(helper, NULL, 0);
}

static void echoed(void *context, int stream, const char *bytes, size_t count) {
    char *to = context;
    snprintf(to + strlen(to), 200 - strlen(to), "%d:%.*s", stream, (int)count, bytes);
}

static void echo(void **state) {
    (void)state;
    char heard[200] = "";
    struct hd_host host = {.echo = echoed, .context = heard};
    struct hd_result run =
        run_there((struct hd_program){0}, &host, "echo out; sleep 0.2; echo err >&2");
    hd_result_free(&run);
    assert_string_equal(heard, "1:out\n2:err\n");
}

static void same_failures(void **state) {
    (void)state;
    struct hd_program plain = {0};
    struct hd_outcome three = outcome_of(plain, "exit 3"), four = outcome_of(plain, "exit 4");
    struct hd_outcome segv = outcome_of(plain, "kill -SEGV $$");
    struct hd_outcome one =
                          outcome_of(plain, "echo '==12== ERROR: AddressSanitizer: x 0xbeef' >&2"),
                      two = outcome_of(plain, "echo '==3== ERROR: AddressSanitizer: x 0xfeed' >&2"),
                      other = outcome_of(plain, "echo '==3== ERROR: AddressSanitizer: y' >&2");
    assert_true(hd_outcome_same(&three, &three));
    assert_false(hd_outcome_same(&three, &four));
    assert_false(hd_outcome_same(&three, &segv));
    assert_true(hd_outcome_same(&one, &two));
    assert_false(hd_outcome_same(&one, &other));
}

static void not_found(void **state) {
    (void)state;
    char name[] = "/no/such/program";
    char *argv[] = {name, NULL};
    struct hd_job job = {.program = {.argv = argv}, .steering = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_result run;
    assert_false(hd_run(&job, NULL, &run, &problem));
    assert_non_null(strstr(problem.message, "cannot run /no/such/program"));
    char shell[] = "/bin/true";
    char *other[] = {shell, NULL};
    job.program.argv = other;
    assert_false(hd_run(&job, NULL, &run, &problem));
    assert_non_null(strstr(problem.message, "not linked with `heddle cc`"));
}

static void quoting(void **state) {
    (void)state;
    char a[] = "./app", b[] = "two words", c[] = "it's", d[] = "";
    char *argv[] = {a, b, c, d, NULL};
    char *text = hd_quote_command(argv);
    assert_string_equal(text, "./app 'two words' 'it'\\''s' ''");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends),         cmocka_unit_test(oracles),
        cmocka_unit_test(outputs),      cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(interruption), cmocka_unit_test(others_are_spared),
        cmocka_unit_test(echo),         cmocka_unit_test(same_failures),
        cmocka_unit_test(not_found),    cmocka_unit_test(quoting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
