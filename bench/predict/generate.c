/* Makes large traces for bench/predict: threads that take nested locks around shared variables,
 * work on their own, pass messages under locks; and, planted among them, pairs of accesses of which
 * it is known whether they can race. The same arguments give the same trace. Writes the text format
 * or RapidBin; prints what a right analysis must find. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is planted. Each has sites of its own. */
enum plant {
    ADJACENT,   /* two accesses one after the other: every method sees the race */
    BEHIND,     /* each beside a section of one lock: happens-before does not see it */
    REVERSED,   /* feasible only if two sections change places */
    CONFLICTED, /* the same, and the sections write one variable: causally-precedes misses it */
    MESSAGE,    /* the second section reads what the first wrote: no race, lockset says one */
    HISTORY,    /* nested sections that exclude each other: no race, lockset says one */
    PLANTS
};
static const char *const plant_name[PLANTS] = {"adjacent",   "behind",  "reversed",
                                               "conflicted", "message", "history"};
static const bool plant_races[PLANTS] = {true, true, true, true, false, false};

enum op { ACQ, REL, READ, WRITE, FORK, JOIN, BEGIN, END }; /* as RapidBin numbers them */

enum {
    BACKGROUND_SITES = 4000,
    NOISE_SITE = 4100,
    CHANNEL_SITE = 6200,
    PLANT_SITE = 8000,
    DEPTH = 3,   /* locks that a thread holds at once */
    GUARDED = 8, /* variables of each lock */
    OWN = 16,    /* variables of each thread */
    RUN = 12     /* steps before another thread goes on, about */
};

struct thread {
    unsigned held[DEPTH], depth;
};

/* A message from one thread to another through a place that no lock guards; a flag and its
 * acknowledgement, both under a lock, keep the two apart. */
struct channel {
    unsigned from, to, phase;
    bool used; /* a message has arrived */
};

static uint64_t state;
static unsigned threads = 8, locks = 64, channels = 4, noise = 0;
static uint64_t wanted = 100000, written;
static unsigned plants[PLANTS];
static struct thread *thread;
static struct channel *channel;
static unsigned *owner; /* of each lock: thread + 1 */
static bool binary;
static FILE *out;
/* numbers of variables: guarded by lock, of a thread, of a channel, noise, planted */
static unsigned own_base, channel_base, noise_base, plant_base;

static uint64_t roll(uint64_t limit) {
    state += 0x9e3779b97f4a7c15ull;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (z ^ z >> 31) % limit;
}

static char *number(char *at, uint64_t value) {
    char digits[24];
    int count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count > 0) *at++ = digits[--count];
    return at;
}

static void emit(unsigned t, enum op op, unsigned object, unsigned site) {
    static const char *const word[] = {"acq(L",  "rel(L",  "r(V",    "w(V",
                                       "fork(T", "join(T", "begin(", "end("};
    written++;
    if (binary) {
        uint64_t value = (uint64_t)t | (uint64_t)op << 10 | (uint64_t)object << 14 |
                         (uint64_t)(site & 0x7fff) << 48;
        for (int shift = 56; shift >= 0; shift -= 8)
            putc_unlocked((int)(value >> shift & 255), out);
        return;
    }
    char line[96], *at = line;
    *at++ = 'T';
    at = number(at, t);
    *at++ = '|';
    for (const char *c = word[op]; *c != '\0'; c++) *at++ = *c;
    if (op != BEGIN && op != END) at = number(at, object);
    *at++ = ')';
    *at++ = '|';
    at = number(at, site);
    *at++ = '\n';
    fwrite_unlocked(line, 1, (size_t)(at - line), out);
}

/* ---- what goes on all the time ------------------------------------------------------------------
 */

static void acquire(unsigned t, unsigned lock) {
    emit(t, ACQ, lock, 1 + lock % BACKGROUND_SITES);
    owner[lock] = t + 1;
    if (thread[t].depth < DEPTH) thread[t].held[thread[t].depth++] = lock;
}

static void release(unsigned t) {
    unsigned lock = thread[t].held[--thread[t].depth];
    emit(t, REL, lock, 1 + lock % BACKGROUND_SITES);
    owner[lock] = 0;
}

static void release_all(unsigned t) {
    while (thread[t].depth > 0) release(t);
}

static void access_variable(unsigned t, unsigned variable) {
    bool write = roll(5) < 2;
    emit(t, write ? WRITE : READ, variable, 1 + (variable * 2 + write) % BACKGROUND_SITES);
}

/* Locks below `plain` are for the background and the plants, the rest belong to channels. */
static void step(unsigned t, unsigned plain) {
    struct thread *self = &thread[t];
    unsigned choice = (unsigned)roll(100);
    if (choice < 7 && self->depth > 0) {
        release(t);
    } else if (choice < 14 && self->depth < DEPTH) {
        /* ascending, so that nothing deadlocks */
        unsigned low = self->depth > 0 ? self->held[self->depth - 1] + 1 : 0;
        unsigned lock = low < plain ? low + (unsigned)roll(plain - low) : plain;
        if (lock < plain && owner[lock] == 0) acquire(t, lock);
    } else if (noise > 0 && choice < 16) {
        unsigned variable = (unsigned)roll(noise);
        bool write = roll(3) == 0;
        emit(t, write ? WRITE : READ, noise_base + variable,
             NOISE_SITE + (variable * 2 + write) % 2000);
    } else if (self->depth > 0 && choice < 70) {
        unsigned lock = self->held[roll(self->depth)];
        access_variable(t, lock * GUARDED + (unsigned)roll(GUARDED));
    } else
        access_variable(t, own_base + t * OWN + (unsigned)roll(OWN));
}

/* One of the three parts of a message, if its thread holds no lock. */
static void pass_message(unsigned index, unsigned plain) {
    struct channel *c = &channel[index];
    unsigned t = c->phase == 1 ? c->to : c->from, lock = plain + index;
    unsigned data = channel_base + index * 3, flag = data + 1, answer = data + 2;
    unsigned site = CHANNEL_SITE + index * 8;
    if (thread[t].depth > 0) return;
    switch (c->phase) {
    case 0:
        emit(t, WRITE, data, site);
        acquire(t, lock);
        emit(t, WRITE, flag, site + 1);
        release(t);
        break;
    case 1:
        acquire(t, lock);
        emit(t, READ, flag, site + 2);
        release(t);
        emit(t, READ, data, site + 3);
        c->used = true;
        acquire(t, lock);
        emit(t, WRITE, answer, site + 4);
        release(t);
        break;
    default:
        acquire(t, lock);
        emit(t, READ, answer, site + 5);
        release(t);
    }
    c->phase = (c->phase + 1) % 3;
}

/* ---- what is planted ----------------------------------------------------------------------------
 */

static unsigned free_lock(unsigned plain, unsigned but) {
    unsigned lock = (unsigned)roll(plain);
    while (owner[lock] != 0 || lock == but) lock = (lock + 1) % plain;
    return lock;
}

/* With few locks all may be taken. */
static void free_two_locks(unsigned plain) {
    unsigned free = 0;
    for (unsigned lock = 0; lock < plain && free < 2; lock++) free += owner[lock] == 0;
    for (unsigned t = 1; free < 2 && t <= threads; t++) release_all(t);
}

static void plant(enum plant kind, unsigned index, unsigned plain) {
    unsigned p = 1 + (unsigned)roll(threads), q = 1 + (unsigned)roll(threads);
    while (q == p) q = 1 + (unsigned)roll(threads);
    release_all(p);
    release_all(q);
    free_two_locks(plain);
    unsigned a = free_lock(plain, plain), b = free_lock(plain, a);
    unsigned racy = plant_base + index * 3, first = racy + 1, second = racy + 2;
    unsigned site = PLANT_SITE + index * 4;
    switch (kind) {
    case ADJACENT:
        emit(p, WRITE, racy, site);
        emit(q, WRITE, racy, site + 1);
        break;
    case BEHIND:
        emit(p, WRITE, racy, site);
        acquire(p, a), emit(p, WRITE, first, site + 2), release(p);
        acquire(q, a), emit(q, WRITE, second, site + 3), release(q);
        emit(q, WRITE, racy, site + 1);
        break;
    case REVERSED:
    case CONFLICTED:
        acquire(p, a), emit(p, WRITE, first, site + 2), emit(p, WRITE, racy, site), release(p);
        acquire(q, a), emit(q, WRITE, kind == REVERSED ? second : first, site + 3), release(q);
        emit(q, WRITE, racy, site + 1);
        break;
    case MESSAGE:
        emit(p, WRITE, racy, site);
        acquire(p, a), emit(p, WRITE, first, site + 2), release(p);
        acquire(q, a), emit(q, READ, first, site + 3), release(q);
        emit(q, WRITE, racy, site + 1);
        break;
    default:
        acquire(p, a), acquire(p, b), emit(p, WRITE, first, site + 2), release(p);
        emit(p, WRITE, racy, site), release(p);
        acquire(q, b), acquire(q, a), emit(q, WRITE, second, site + 3), release(q);
        emit(q, WRITE, racy, site + 1), release(q);
    }
}

/* ---- the trace ----------------------------------------------------------------------------------
 */

static void run(void) {
    unsigned plain = locks > channels ? locks - channels : 2;
    uint64_t planted = 0, total = 0;
    for (int k = 0; k < PLANTS; k++) total += plants[k];
    unsigned left[PLANTS];
    memcpy(left, plants, sizeof left);
    for (unsigned t = 1; t <= threads; t++) emit(0, FORK, t, 1);
    for (unsigned t = 1; t <= threads; t++) emit(t, BEGIN, 0, 1);
    uint64_t begin = written,
             room = wanted > begin + threads * 6 ? wanted - begin - threads * 6 : 1;
    while (written < begin + room) {
        if (total > 0 && planted * room <= (written - begin) * total && planted < total) {
            int kind = (int)roll(PLANTS);
            while (left[kind] == 0) kind = (kind + 1) % PLANTS;
            left[kind]--;
            plant((enum plant)kind, (unsigned)planted++, plain);
            continue;
        }
        if (channels > 0 && roll(40) == 0) pass_message((unsigned)roll(channels), plain);
        unsigned t = 1 + (unsigned)roll(threads);
        for (uint64_t n = 1 + roll(2 * RUN); n > 0; n--) step(t, plain);
    }
    while (planted < total) {
        int kind = 0;
        while (left[kind] == 0) kind++;
        left[kind]--;
        plant((enum plant)kind, (unsigned)planted++, plain);
    }
    for (unsigned t = 1; t <= threads; t++) {
        release_all(t);
        emit(t, END, 0, 1);
    }
    for (unsigned t = 1; t <= threads; t++) emit(0, JOIN, t, 1);
}

/* The number of events comes last, once it is known. */
static void write_header(void) {
    uint64_t variables = plant_base;
    for (int k = 0; k < PLANTS; k++) variables += plants[k] * 3u;
    uint64_t field[4] = {threads + 1, locks, variables, written};
    static const int bytes[4] = {2, 4, 4, 8};
    for (int i = 0; i < 4; i++)
        for (int shift = bytes[i] * 8 - 8; shift >= 0; shift -= 8)
            putc_unlocked((int)(field[i] >> shift & 255), out);
}

static uint64_t argument(const char *text, uint64_t low, uint64_t high) {
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || value < (double)low || value > (double)high) {
        fprintf(stderr, "generate: '%s' is not a number from %" PRIu64 " to %" PRIu64 "\n", text,
                low, high);
        exit(2);
    }
    return (uint64_t)value;
}

static int usage(void) {
    fprintf(stderr,
            "usage: generate [--events N] [--threads N] [--locks N] [--channels N] [--noise N]\n"
            "                [--plant N] [--seed N] [--rapidbin] FILE\n"
            "  --plant   pairs of each of: adjacent behind reversed conflicted message history\n"
            "  --noise   variables that threads access without locks now and then\n");
    return 2;
}

int main(int argc, char **argv) {
    const char *path = NULL;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--rapidbin") == 0) {
            binary = true;
            continue;
        }
        if (name[0] != '-') {
            path = name;
            continue;
        }
        i++;
        if (strcmp(name, "--events") == 0)
            wanted = argument(value, 1, 4000000000u);
        else if (strcmp(name, "--threads") == 0)
            threads = (unsigned)argument(value, 2, 1000);
        else if (strcmp(name, "--locks") == 0)
            locks = (unsigned)argument(value, 4, 100000);
        else if (strcmp(name, "--channels") == 0)
            channels = (unsigned)argument(value, 0, 200);
        else if (strcmp(name, "--noise") == 0)
            noise = (unsigned)argument(value, 0, 1000);
        else if (strcmp(name, "--seed") == 0)
            seed = argument(value, 0, 1000000000000u);
        else if (strcmp(name, "--plant") == 0)
            for (int k = 0; k < PLANTS; k++) plants[k] = (unsigned)argument(value, 0, 1000000);
        else
            return usage();
    }
    if (path == NULL) return usage();
    if (channels + 2 > locks) channels = locks > 2 ? locks - 2 : 0;
    out = fopen(path, "wb");
    thread = calloc(threads + 1u, sizeof *thread);
    owner = calloc(locks, sizeof *owner);
    channel = calloc(channels + 1u, sizeof *channel);
    if (out == NULL || thread == NULL || owner == NULL || channel == NULL) {
        perror(path);
        return 2;
    }
    setvbuf(out, NULL, _IOFBF, 1 << 20);
    state = seed;
    own_base = locks * GUARDED;
    channel_base = own_base + (threads + 1) * OWN;
    noise_base = channel_base + channels * 3;
    plant_base = noise_base + noise;
    for (unsigned c = 0; c < channels; c++) {
        channel[c].from = 1 + c % threads;
        channel[c].to = 1 + (c + 1 + c / threads) % threads;
        if (channel[c].to == channel[c].from) channel[c].to = 1 + channel[c].to % threads;
    }
    if (binary) write_header();
    run();
    if (binary) {
        rewind(out);
        write_header();
    }
    if (fclose(out) != 0) {
        perror(path);
        return 2;
    }
    unsigned races = 0, pairs = 0;
    printf("events %" PRIu64 "\n", written);
    for (int k = 0; k < PLANTS; k++) {
        printf("%s %u\n", plant_name[k], plants[k]);
        pairs += plants[k];
        if (plant_races[k]) races += plants[k];
    }
    unsigned messages = 0;
    for (unsigned c = 0; c < channels; c++) messages += channel[c].used;
    printf("planted_pairs %u\nplanted_races %u\nmessage_pairs %u\n", pairs, races, messages);
    free(thread);
    free(owner);
    free(channel);
    return 0;
}
