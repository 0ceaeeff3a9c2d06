/* Runs a libFuzzer target without libFuzzer: feeds it the corpus, then mutations of it, for a given
 * time. Takes libFuzzer's own arguments (-max_total_time=S -seed=N -artifact_prefix=P
 * FILE-OR-DIR...) so that tests/run starts both alike. The target runs in a child; if that dies,
 * the input that did it is written out. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
    __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

#define INPUT_BYTES (256u * 1024u)
#define CORPUS_INPUTS 512
#define INPUT_SECONDS 20

struct shared {
    size_t size;
    uint64_t runs;
    uint8_t data[INPUT_BYTES];
};
static struct shared *shared;
static struct {
    uint8_t *data;
    size_t size;
} corpus[CORPUS_INPUTS];
static unsigned corpus_count;

static uint64_t random_state;
static uint64_t random_word(void) {
    /* splitmix64 */
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static size_t below(size_t limit) { return limit ? random_word() % limit : 0; }

/* ---- corpus -----------------------------------------------------------------------------------
 */

static void add_input(const uint8_t *data, size_t size) {
    if (corpus_count == CORPUS_INPUTS) return;
    uint8_t *copy = malloc(size + 1);
    if (!copy) return;
    if (size) memcpy(copy, data, size);
    corpus[corpus_count].data = copy;
    corpus[corpus_count++].size = size;
}

static void add_path(const char *path) {
    struct stat status;
    if (stat(path, &status) < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    if (S_ISDIR(status.st_mode)) {
        struct dirent **entry;
        int entries = scandir(path, &entry, NULL, alphasort);
        for (int i = 0; i < entries; i++) {
            char inner[PATH_MAX];
            snprintf(inner, sizeof inner, "%s/%s", path, entry[i]->d_name);
            if (entry[i]->d_name[0] != '.') add_path(inner);
            free(entry[i]);
        }
        if (entries >= 0) free(entry);
        return;
    }
    static uint8_t buffer[INPUT_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file) return;
    size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    add_input(buffer, size);
}

/* ---- mutation ---------------------------------------------------------------------------------
 */

static size_t insert_bytes(uint8_t *data, size_t size, size_t max, size_t at, const uint8_t *from,
                           size_t count) {
    if (count > max - size) count = max - size;
    memmove(data + at + count, data + at, size - at);
    for (size_t i = 0; i < count; i++) data[at + i] = from ? from[i] : (uint8_t)random_word();
    return size + count;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) {
    static const uint64_t interesting[] = {0,          1,          0x7f,       0x80,
                                           0xff,       0xffff,     0x7fffffff, 0x80000000,
                                           0xffffffff, UINT64_MAX, 1u << 16,   1u << 24};
    if (size > max) size = max;
    switch (size ? below(9) : 8) {
    case 0:
        data[below(size)] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        data[below(size)] = (uint8_t)random_word();
        break;
    case 2:
        data[below(size)] += (uint8_t)(below(33) - 16);
        break;
    case 3: { /* a number of 1, 2, 4 or 8 bytes */
        uint64_t value = interesting[below(sizeof interesting / sizeof *interesting)];
        size_t width = (size_t)1 << below(4), at = below(size);
        if (width > size - at) width = size - at;
        memcpy(data + at, &value, width);
        break;
    }
    case 4:
        size = below(size + 1);
        break; /* cut short */
    case 5: {  /* take a piece out */
        size_t at = below(size), count = 1 + below(size - at < 64 ? size - at : 64);
        if (count > size - at) count = size - at;
        memmove(data + at, data + at + count, size - at - count);
        size -= count;
        break;
    }
    case 6: { /* repeat or move a piece */
        uint8_t piece[256];
        size_t at = below(size), count = 1 + below(size - at);
        if (count > sizeof piece) count = sizeof piece;
        memcpy(piece, data + at, count);
        size = insert_bytes(data, size, max, below(size + 1), piece, count);
        break;
    }
    case 7: { /* splice with another input */
        if (!corpus_count) break;
        unsigned other = (unsigned)below(corpus_count);
        size_t from = below(corpus[other].size), at = below(size + 1);
        size_t count = below(corpus[other].size - from + 1);
        if (count) size = insert_bytes(data, size, max, at, corpus[other].data + from, count);
        break;
    }
    default:
        size = insert_bytes(data, size, max, below(size + 1), NULL, 1 + below(16));
        break;
    }
    return size;
}

static void mutate(struct shared *input) {
    unsigned rounds = 1u << below(5);
    for (unsigned i = 0; i < rounds; i++) {
        uint8_t *data = input->data;
        input->size =
            LLVMFuzzerCustomMutator && below(2)
                ? LLVMFuzzerCustomMutator(data, input->size, INPUT_BYTES, (unsigned)random_word())
                : LLVMFuzzerMutate(data, input->size, INPUT_BYTES);
    }
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void fuzz(double seconds) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (unsigned i = 0; i < corpus_count; i++) {
        shared->size = corpus[i].size;
        memcpy(shared->data, corpus[i].data, corpus[i].size);
        alarm(INPUT_SECONDS);
        LLVMFuzzerTestOneInput(shared->data, shared->size);
        shared->runs++;
    }
    if (!corpus_count) add_input(NULL, 0);
    do {
        unsigned base = (unsigned)below(corpus_count);
        shared->size = corpus[base].size;
        memcpy(shared->data, corpus[base].data, corpus[base].size);
        mutate(shared);
        /* An exact-size heap copy lets ASan see a read past the end. */
        uint8_t *copy = malloc(shared->size ? shared->size : 1);
        if (!copy) return;
        memcpy(copy, shared->data, shared->size);
        alarm(INPUT_SECONDS);
        LLVMFuzzerTestOneInput(copy, shared->size);
        free(copy);
        shared->runs++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 <
             seconds);
}

int main(int argc, char **argv) {
    double seconds = 3;
    const char *prefix = "";
    random_state = 1;
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-max_total_time=", 16) == 0)
            seconds = atof(argv[i] + 16);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            random_state = strtoull(argv[i] + 6, NULL, 0);
        else if (strncmp(argv[i], "-artifact_prefix=", 17) == 0)
            prefix = argv[i] + 17;
        else if (argv[i][0] != '-')
            add_path(argv[i]);
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    printf("seed %llu, %u inputs in the corpus\n", (unsigned long long)random_state, corpus_count);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
        fuzz(seconds);
        for (unsigned i = 0; i < corpus_count; i++) free(corpus[i].data);
        corpus_count = 0;
        exit(0); /* not _exit: the leak check runs here */
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    for (unsigned i = 0; i < corpus_count; i++) free(corpus[i].data);
    printf("%llu runs\n", (unsigned long long)shared->runs);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    char path[PATH_MAX];
    bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    const char *slash = strrchr(argv[0], '/');
    snprintf(path, sizeof path, "%s%s-%s-%llu", prefix, hung ? "timeout" : "crash",
             slash ? slash + 1 : argv[0], (unsigned long long)shared->runs);
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(shared->data, 1, shared->size, file);
        fclose(file);
    }
    printf("%s; the input is in %s\n", hung ? "one input took too long" : "the target died", path);
    return 1;
}
