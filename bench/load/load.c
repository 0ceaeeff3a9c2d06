/* What loading a recording costs: load TRACE. Two lines of numbers, times in processor
 * seconds. The first has for each way to load the trace (everything, its steps, the steps of shared
 * memory, those of memory that threads share at the same time), in a process of its own: events,
 * seconds to read, seconds with the model, peak memory in kB. The second is of its accesses sent
 * through the filter alone, from memory: accesses, kept, put in, states, pages, seconds. */
#define _GNU_SOURCE
#include "model/model.h"
#include "trace/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double processor(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void load_or_end(const char *path, enum hd_trace_keep keep, struct hd_trace *trace) {
    struct hd_error error;
    if (hd_trace_load(path, &(struct hd_trace_options){.keep = keep}, trace, &error)) return;
    fprintf(stderr, "load: %s\n", error.message);
    exit(2);
}

static void put(void *context, const struct hd_filter_access *access) {
    (void)context;
    (void)access;
}

static void filter_alone(const char *path) {
    struct hd_trace trace;
    load_or_end(path, HD_KEEP_ALL, &trace);
    struct hd_filter_options options = {.put = put};
    struct hd_filter *filter = hd_filter_new(&options);
    double start = processor();
    uint32_t extra = 0;
    for (uint32_t e = 0; e < trace.events; e++) {
        uint64_t bytes = trace.flags[e];
        if (e + 16 < trace.events) hd_filter_prefetch(filter, trace.operand[e + 16]);
        while (extra < trace.extras && trace.extra_event[extra] < e) extra++;
        if (extra < trace.extras && trace.extra_event[extra] == e) bytes = trace.extra_value[extra];
        if (trace.kind[e] <= HD_EV_WRITE) {
            (void)hd_filter_access(filter, trace.thread[e], trace.kind[e] == HD_EV_WRITE,
                                   trace.operand[e], bytes, trace.site[e]);
            continue;
        }
        if (trace.kind[e] <= HD_EV_ATOMIC_UPDATE) bytes = (uint64_t)1 << (trace.flags[e] & 0xf);
        hd_filter_event(filter, trace.thread[e], trace.kind[e], trace.operand[e], bytes);
    }
    hd_filter_finish(filter);
    double seconds = processor() - start;
    struct hd_filter_figures f = hd_filter_figures(filter);
    printf("%llu %llu %llu %u %u %.3f\n", (unsigned long long)f.accesses,
           (unsigned long long)f.kept, (unsigned long long)f.put, f.states, f.pages, seconds);
    hd_filter_free(filter);
    hd_trace_free(&trace);
}

static void load(const char *path, enum hd_trace_keep keep) {
    struct hd_trace trace;
    struct hd_model model;
    struct hd_error error;
    double start = processor();
    load_or_end(path, keep, &trace);
    double read = processor() - start;
    uint32_t events = trace.events;
    if (!hd_model_build(&trace, &(struct hd_model_options){.lenient = true}, &model, &error)) {
        fprintf(stderr, "load: %s\n", error.message);
        exit(2);
    }
    double all = processor() - start;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%u %.3f %.3f %ld ", events, read, all, used.ru_maxrss);
    fflush(stdout);
    _exit(0);
}

int main(int count, char **argument) {
    if (count != 2) return 2;
    /* before this process has had any memory: a child's peak begins with its parent's */
    static const enum hd_trace_keep keep[] = {HD_KEEP_ALL, HD_KEEP_STEPS, HD_KEEP_SHARED,
                                              HD_KEEP_CONCURRENT};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        pid_t child = fork();
        if (child == 0) load(argument[1], keep[i]);
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 2;
    }
    printf("\n");
    filter_alone(argument[1]);
    return 0;
}
