/* The main program of the recording benchmarks: arguments, threads, checksum,
 * and the peak memory of this process alone, appended to the file named by
 * BENCH_PEAK so that a recorder's own memory is not counted. */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    struct team *team;
    unsigned self;
};

struct span team_share(const struct team *team, unsigned self, unsigned long total) {
    struct span span = {total * self / team->threads, total * (self + 1) / team->threads};
    return span;
}

void team_wait(struct team *team) { pthread_barrier_wait(&team->barrier); }

void *bench_alloc(unsigned long count, unsigned long item_size) {
    size_t bytes = (count * item_size + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);
    if (memory == NULL) {
        fprintf(stderr, "%s: out of memory\n", kernel.name);
        exit(2);
    }
    memset(memory, 0, bytes);
    return memory;
}

uint64_t bench_sum_doubles(const double *values, unsigned long count) {
    uint64_t sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        sum = (sum ^ bits) * 0x100000001b3u;
    }
    return sum;
}

static void *member_main(void *argument) {
    struct member *member = argument;
    kernel.work(member->team, member->self);
    return NULL;
}

static void append_peak_memory(const char *path) {
    FILE *status = fopen("/proc/self/status", "r");
    FILE *out = fopen(path, "a");
    char line[256];
    if (status != NULL && out != NULL)
        while (fgets(line, sizeof line, status) != NULL)
            if (strncmp(line, "VmHWM:", 6) == 0) fprintf(out, "%ld\n", strtol(line + 6, NULL, 10));
    if (status != NULL) fclose(status);
    if (out != NULL) fclose(out);
}

static unsigned long positive(const char *text) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' ? value : 0;
}

int main(int argc, char **argv) {
    static struct team team;
    if (argc == 3) {
        team.threads = (unsigned)positive(argv[1]);
        team.size = positive(argv[2]);
    }
    if (team.threads == 0 || team.threads > 256 || team.size == 0) {
        fprintf(stderr, "usage: %s THREADS SIZE    (size: %s)\n", kernel.name, kernel.size_means);
        return 2;
    }
    const char *wrong = kernel.setup(&team);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s\n", kernel.name, wrong);
        return 2;
    }

    pthread_t threads[256];
    struct member members[256];
    pthread_barrier_init(&team.barrier, NULL, team.threads);
    for (unsigned t = 0; t < team.threads; t++) {
        members[t] = (struct member){&team, t};
        if (pthread_create(&threads[t], NULL, member_main, &members[t]) != 0) {
            fprintf(stderr, "%s: cannot start thread %u\n", kernel.name, t);
            return 2;
        }
    }
    for (unsigned t = 0; t < team.threads; t++) pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&team.barrier);

    uint64_t checksum = 0;
    bool right = kernel.check(&team, &checksum);
    printf("%s %016llx %s\n", kernel.name, (unsigned long long)checksum, right ? "ok" : "WRONG");
    if (getenv("BENCH_PEAK") != NULL) append_peak_memory(getenv("BENCH_PEAK"));
    return right ? 0 : 1;
}
