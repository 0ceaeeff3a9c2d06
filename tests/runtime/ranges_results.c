/* Calls that leave their result in memory of the program's; see ranges.c for the EXPECT lines. */

/* An EXPECT stays in the line of its call. */
/* clang-format off */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

time_t time_to, epoch_from;
struct timespec clock_to;
struct timeval day_to;
struct tm tm_to, gmtime_to;
char strftime_to[64], cwd_to[4096], link_to[4096], random_to[64], ntop_to[64];
struct stat stat_to, fstat_to, no_stat;
int pipe_to[2], pair_to[2], qsort_in[40];
unsigned pton_to; /* an IPv4 address */

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    assert(time(&time_to) > 0);                            /* EXPECT w:time_to:8 */
    assert(clock_gettime(CLOCK_MONOTONIC, &clock_to) == 0); /* EXPECT w:clock_to:16 */
    assert(gettimeofday(&day_to, NULL) == 0);              /* EXPECT w:day_to:16 */
    assert(localtime_r(&epoch_from, &tm_to) == &tm_to);    /* EXPECT w:tm_to:56 */
    assert(gmtime_r(&epoch_from, &gmtime_to) == &gmtime_to); /* EXPECT w:gmtime_to:56 */
    assert(strftime(strftime_to, 64, "%Y", &gmtime_to) == 4); /* EXPECT w:strftime_to:5 */
    assert(strcmp(strftime_to, "1970") == 0);
    assert(stat("/", &stat_to) == 0);                      /* EXPECT w:stat_to:144 */
    assert(stat("/no such file", &no_stat) == -1);         /* EXPECT */
    assert(pipe(pipe_to) == 0);                            /* EXPECT w:pipe_to:8 */
    assert(fstat(pipe_to[0], &fstat_to) == 0); /* EXPECT-SERIAL r:pipe_to[0]:4 w:fstat_to:144 */
    assert(S_ISDIR(stat_to.st_mode) && S_ISFIFO(fstat_to.st_mode));
    assert(chdir("/tmp") == 0);
    assert(getcwd(cwd_to, sizeof cwd_to) == cwd_to);       /* EXPECT w:cwd_to:5 */
    assert(strcmp(cwd_to, "/tmp") == 0);
    assert(readlink("/proc/self/fd/0", link_to, 3) == 3);  /* EXPECT w:link_to:3 */
    assert(getrandom(random_to, 20, 0) == 20);             /* EXPECT w:random_to:20 */
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair_to) == 0); /* EXPECT w:pair_to:8 */
    assert(inet_pton(AF_INET, "127.0.0.1", &pton_to) == 1); /* EXPECT w:pton_to:4 */
    assert(inet_ntop(AF_INET, &pton_to, ntop_to, 64) == ntop_to); /* EXPECT w:ntop_to:10 */
    for (int i = 0; i < 40; i++) qsort_in[i] = 40 - i;
    qsort(qsort_in, 40, sizeof *qsort_in, order); /* EXPECT r:qsort_in:160 w:qsort_in:160 */
    assert(qsort_in[0] == 1 && qsort_in[39] == 40);
    puts("done");
    return 0;
}
