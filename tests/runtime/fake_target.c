/* Plays the program under test towards the recorder, without the runtime: shared memory in states
 * that a real program shows only for moments, or never. Compiled by plain gcc. */
#define _GNU_SOURCE
#include "trace/token.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNKS 8u

static struct hd_wire_session *session;

/* True if the recorder wants to record us. */
static bool ask(uint64_t magic, uint32_t chunks, size_t bytes) {
    int fd = open(getenv(HD_CHANNEL_ENV), O_RDWR);
    struct hd_wire_channel *channel =
        mmap(NULL, sizeof *channel, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (channel == MAP_FAILED) exit(99);
    int memory = memfd_create("fake", 0);
    if (ftruncate(memory, (off_t)bytes) != 0) exit(98);
    if (bytes >= sizeof *session) {
        session = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        session->magic = magic;
        session->version = HD_WIRE_VERSION;
        session->pid = getpid();
        session->bytes = bytes;
        session->options = channel->options;
        session->chunk_count = chunks;
        session->string_bytes = 1;
    }
    struct hd_wire_slot *slot = &channel->slot[3];
    slot->pid = getpid();
    slot->fd = memory;
    __atomic_store_n(&slot->state, HD_SLOT_ASKED, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&channel->asked, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &channel->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (__atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) == HD_SLOT_ASKED) usleep(1000);
    return slot->state == HD_SLOT_YES;
}

static uint64_t next_address = 0x10000;

static struct hd_wire_chunk *fill(uint32_t index, uint32_t stream, uint32_t sequence, size_t from,
                                  size_t to) {
    struct hd_wire_chunk *chunk = hd_wire_chunk(session, index);
    chunk->stream = stream;
    chunk->sequence = sequence;
    if (session->chunks_used <= index) session->chunks_used = index + 1;
    if (from == 0) chunk->expected = 0;
    for (size_t i = from; i < to; i++) {
        uint64_t head = hd_wire_head(HD_EV_WRITE, 8, next_address);
        if (i == 0 && sequence == 0) head = hd_wire_head(HD_EV_BEGIN, 0, 0);
        uint8_t *at = chunk->record + (chunk->expected >> HD_MET_BITS);
        at = hd_token_put_event(at, 0, head, hd_wire_tail(0, 1, 0), 0);
        __atomic_store_n(&chunk->expected, (uint64_t)(at - chunk->record) << HD_MET_BITS,
                         __ATOMIC_RELEASE);
        next_address += 8;
    }
    return chunk;
}

static void set(struct hd_wire_chunk *chunk, uint32_t state) {
    if (state == HD_CHUNK_FULL) __atomic_fetch_add(&session->full_chunks, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&chunk->state, state, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&session->wake, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &session->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (getenv(HD_CHANNEL_ENV) == NULL) return 97;
    size_t bytes = hd_wire_session_bytes(CHUNKS);
    if (strcmp(what, "magic") == 0) return ask(12345, CHUNKS, bytes) ? 1 : 3;
    if (strcmp(what, "small") == 0) return ask(HD_WIRE_MAGIC, CHUNKS, 4096) ? 1 : 3;
    if (strcmp(what, "many") == 0) return ask(HD_WIRE_MAGIC, 1u << 30, bytes) ? 1 : 3;
    if (!ask(HD_WIRE_MAGIC, CHUNKS, bytes)) return 96;

    if (strcmp(what, "late") == 0) { /* a chunk seems full before the one it follows */
        struct hd_wire_chunk *first = fill(0, 0, 0, 0, 100), *second = fill(1, 0, 1, 0, 100);
        set(first, HD_CHUNK_OPEN);
        set(second, HD_CHUNK_FULL);
        usleep(60000);
        set(first, HD_CHUNK_FULL);
        usleep(60000);
        set(fill(0, 0, 2, 0, 50), HD_CHUNK_FULL);
    } else if (strcmp(what, "growing") == 0) { /* looked at while it is written */
        struct hd_wire_chunk *chunk = fill(0, 0, 0, 0, 100);
        set(chunk, HD_CHUNK_OPEN);
        usleep(400000);
        fill(0, 0, 0, 100, 200);
        puts("ready");
        fflush(stdout);
        usleep(argc > 2 ? 20000000 : 100000);
        set(fill(0, 0, 0, 200, 300), HD_CHUNK_FULL);
    } else if (strcmp(what, "scribbled") == 0) {
        fill(0, 0, 0, 0, 50)->state = HD_CHUNK_OPEN;
        fill(1, 0, 7, 0, 50)->state = 12345;
        struct hd_wire_chunk *chunk = fill(2, 0, 1, 0, 0);
        chunk->expected = ~0ull << HD_MET_BITS;
        for (size_t i = 0; i < HD_CHUNK_EVENTS; i++)
            chunk->event[i] = (struct hd_wire_event){0x0101010101010101ull * (i | 1), ~i};
        set(chunk, HD_CHUNK_FULL);
        session->module[0].path = 0xfffffff0u;
        session->module[0].build_id_length = 5000;
        session->module[1].path = HD_STRINGS_BYTES - 1;
        memset(session->strings, 'x', sizeof session->strings);
        session->module_count = 0xffffffffu;
        session->chunks_used = 0xffffffffu;
        session->chunk_count = 0xffffffffu;
    } else if (strcmp(what, "stream") == 0) {
        set(fill(0, 0xfffffff0u, 0, 0, 50), HD_CHUNK_FULL);
    }
    return 5;
}
