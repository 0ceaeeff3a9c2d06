/* Runs a program many times under random schedules (POS) and says what a run costs: speed RUNS
 * AT_ONCE DEPTH START LIBRARY PROGRAM [ARG]... Each run is recorded, and loaded as a model if DEPTH
 * is "load"; "run": only judged. They are forked from a program that waits before main, unless
 * START is "exec". One line: seconds, processor seconds of this process, of the program's
 * processes, runs that did not pass. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "model/build.h"
#include "run/server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct hd_program program;
static struct hd_host host;
static unsigned runs;
static bool plain, trace, load;
static atomic_uint next, failed;

static void one(unsigned number) {
    struct hd_job job = {.program = program,
                         .steering = {.scheduler = plain ? HD_SCHED_OFF : HD_SCHED_SERIAL,
                                      .policy = HD_POLICY_POS,
                                      .seed = number,
                                      .no_trace = !trace}};
    struct hd_result result;
    struct hd_error error;
    if (!hd_run(&job, &host, &result, &error)) {
        fprintf(stderr, "speed: %s\n", error.message);
        exit(2);
    }
    failed += hd_outcome_failed(&result.outcome);
    struct hd_model model;
    if (load && hd_model_load(result.trace_path, NULL, &(struct hd_model_options){.lenient = true},
                              &model, &error))
        hd_model_free(&model);
    hd_result_free(&result);
}

static void *work(void *unused) {
    (void)unused;
    for (unsigned i; (i = atomic_fetch_add(&next, 1)) < runs;) one(i);
    return NULL;
}

static double processor(int who) {
    struct rusage used;
    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

int main(int count, char **argument) {
    if (count < 7) return 2;
    unsigned at_once = (unsigned)atoi(argument[2]);
    runs = (unsigned)atoi(argument[1]);
    plain = strcmp(argument[3], "plain") == 0;
    load = strcmp(argument[3], "load") == 0;
    trace = load || strcmp(argument[3], "trace") == 0;
    host.library_directory = argument[5];
    program = (struct hd_program){.argv = argument + 6, .limit_ms = 60000};
    if (strcmp(argument[4], "exec") != 0) host.server = hd_server_new(NULL);
    one(0); /* what is done once is not measured */
    struct hd_job job = {.program = program, .steering = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_error ignored;
    hd_server_prepare(host.server, &job, &host, &ignored);
    double own = processor(RUSAGE_SELF), others = processor(RUSAGE_CHILDREN);
    double start = hd_seconds_now();
    pthread_t thread[64];
    for (unsigned i = 1; i < at_once && i < 64; i++) pthread_create(&thread[i], NULL, work, NULL);
    work(NULL);
    for (unsigned i = 1; i < at_once && i < 64; i++) pthread_join(thread[i], NULL);
    if (host.server != NULL && hd_server_runs(host.server) != runs)
        fprintf(stderr, "speed: only %llu runs were forked\n",
                (unsigned long long)hd_server_runs(host.server));
    printf("%.6f %.6f %.6f %u\n", hd_seconds_now() - start, processor(RUSAGE_SELF) - own,
           processor(RUSAGE_CHILDREN) - others, failed);
    hd_server_free(host.server);
    return 0;
}
