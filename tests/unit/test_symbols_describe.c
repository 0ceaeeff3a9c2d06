/* The words for a model: this program writes a trace about its own code and data, loads it, and
 * compares the words with its own source. Text traces speak for themselves. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "model/describe.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int item[4];
};
static struct queue queue;
static int counter;

static struct hd_trace_module self;
static char self_path[4096];

static int find_self(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    self = (struct hd_trace_module){.path = self_path, .bias = info->dlpi_addr, .site_base = 1};
    self.text_lo = self.image_lo = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uint64_t lo = info->dlpi_addr + header->p_vaddr, hi = lo + header->p_memsz;
        if (lo < self.image_lo) self.image_lo = lo;
        if (hi > self.image_hi) self.image_hi = hi;
        if (!(header->p_flags & PF_X)) continue;
        if (lo < self.text_lo) self.text_lo = lo;
        if (hi > self.text_hi) self.text_hi = hi;
    }
    return 1; /* the program comes first */
}

__attribute__((noinline)) static uint32_t here(void) {
    uint32_t site = (uint32_t)((uint64_t)__builtin_return_address(0) - self.text_lo + 1);
    __asm__ volatile("" : "+r"(site));
    return site;
}

/* Sites with functions of their own; the line is kept beside them. */
#define PLACE(name)                                        \
    static unsigned name##_line;                           \
    __attribute__((noinline)) static uint32_t name(void) { \
        name##_line = __LINE__;                            \
        uint32_t site = here();                            \
        __asm__ volatile("" : "+r"(site));                 \
        return site;                                       \
    }
PLACE(writer)
PLACE(allocator)
PLACE(releaser)
PLACE(caller)

/* ---- a trace ------------------------------------------------------------------------------ */

static char trace_path[] = "/tmp/heddle-describe-XXXXXX";
static struct hd_writer *output;
static struct hd_model model;
static struct hd_describe *describe;

static void put(unsigned kind, unsigned flags, uint64_t operand, uint32_t site) {
    struct hd_wire_event event = {hd_wire_head(kind, flags, operand), hd_wire_tail(site, 1, 0)};
    struct hd_error error;
    if (!hd_writer_events(output, 0, &event, 1, &error)) fail_msg("%s", error.message);
}

static uint64_t address_of(const void *object) { return (uint64_t)object; }

#define HEAP 0x7f0000001000ull
#define STACK 0x7f0000100000ull
#define NOWHERE 0x123456789000ull

enum {
    MAIN_BEGIN,
    FORK,
    ALLOC,
    THREAD_BEGIN,
    THREAD_STACK,
    WRITE_COUNTER,
    WRITE_ITEM,
    WRITE_ITEMS,
    WRITE_HEAP,
    WRITE_STACK,
    WRITE_NOWHERE,
    LOCK_STATIC,
    UNLOCK_STATIC,
    LOCK_HEAP,
    UNLOCK_HEAP,
    SIGNAL,
    ATOMIC,
    NOTE,
    FREE,
    AFTER_FREE,
    END,
    JOIN,
    LAST
};

static const char note[] = "phase two";

static int write_trace(void **state) {
    (void)state;
    ssize_t length = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    int fd = mkstemp(trace_path);
    if (length < 0 || fd < 0) return -1;
    close(fd);
    dl_iterate_phdr(find_self, NULL);
    struct hd_error error;
    struct hd_trace_about about = {.command = "self", .pid = 1};
    about.options.scheduler = HD_SCHED_SERIAL;
    output = hd_writer_open(trace_path, &about, &error);
    if (!output || !hd_writer_module(output, &self, &error)) return -1;
    put(HD_EV_THREAD, 0, 0, 0);
    put(HD_EV_BEGIN, 0, 0, 0);
    put(HD_EV_FORK, 0, 1, caller());
    put(HD_EV_PUSH, 0, 1, caller());
    put(HD_EV_EXT, 0, 32, 0);
    put(HD_EV_ALLOC, HD_BLOCK_HEAP, HEAP, allocator());
    put(HD_EV_THREAD, 0, 1, 0);
    put(HD_EV_BEGIN, 0, 0, 0);
    put(HD_EV_EXT, 0, 65536, 0);
    put(HD_EV_ALLOC, HD_BLOCK_STACK, STACK, 0);
    put(HD_EV_PUSH, 0, 1, caller());
    put(HD_EV_WRITE, sizeof counter, address_of(&counter), writer());
    put(HD_EV_WRITE, sizeof(int), address_of(&queue.item[2]), writer());
    put(HD_EV_WRITE, sizeof queue.item, address_of(&queue.item), writer());
    put(HD_EV_WRITE, 4, HEAP + 8, writer());
    put(HD_EV_WRITE, 8, STACK + 4000, writer());
    put(HD_EV_WRITE, 8, NOWHERE, writer());
    put(HD_EV_ACQUIRE, HD_LOCK_MUTEX, address_of(&queue.lock), writer());
    put(HD_EV_RELEASE, HD_LOCK_MUTEX, address_of(&queue.lock), writer());
    put(HD_EV_ACQUIRE, HD_LOCK_RWLOCK, HEAP + 16, writer());
    put(HD_EV_RELEASE, HD_LOCK_RWLOCK, HEAP + 16, writer());
    put(HD_EV_EXT, 0, 1, 0);
    put(HD_EV_SIGNAL, 0, address_of(&queue.filled), writer());
    put(HD_EV_ATOMIC_UPDATE, 2 | 5 << 4, address_of(&counter), writer());
    put(HD_EV_NOTE, HD_NOTE_TEXT, address_of(note), writer());
    put(HD_EV_EXT, 0, 32, 0);
    put(HD_EV_FREE, HD_BLOCK_HEAP, HEAP, releaser());
    put(HD_EV_READ, 4, HEAP + 8, writer());
    put(HD_EV_POP, 0, 0, 0);
    put(HD_EV_END, 0, 0, 0);
    put(HD_EV_THREAD, 0, 0, 0);
    put(HD_EV_JOIN, 0, 1, caller());
    put(HD_EV_END, 0, 0, 0);
    struct hd_trace_end end = {.whole = true, .exited = true};
    if (!hd_writer_finish(output, &end, false, &error)) return -1;
    struct hd_model_options options = {.lenient = true};
    if (!hd_model_load(trace_path, NULL, &options, &model, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    describe = hd_describe_open(&model);
    return 0;
}

static int remove_trace(void **state) {
    (void)state;
    hd_describe_close(describe);
    hd_model_free(&model);
    return unlink(trace_path);
}

/* ---- words -------------------------------------------------------------------------------- */

static void expect(uint32_t event, const char *short_text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void expect(uint32_t event, const char *short_text, const char *format, ...) {
    char long_text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(long_text, sizeof long_text, format, list);
    va_end(list);
    assert_string_equal(hd_describe_event(describe, event, HD_SHORT), short_text);
    assert_string_equal(hd_describe_event(describe, event, HD_LONG), long_text);
    /* and again, out of the caches */
    assert_string_equal(hd_describe_event(describe, event, HD_SHORT), short_text);
    assert_string_equal(hd_describe_event(describe, event, HD_LONG), long_text);
}

static const char *own_file(void) {
    const struct hd_frame *frame = hd_describe_frame(describe, WRITE_COUNTER);
    assert_non_null(frame->file);
    assert_non_null(strstr(frame->file, "test_symbols_describe.c"));
    return frame->file;
}

static void test_events_are_told_by_what_they_are_about(void **state) {
    (void)state;
    assert_int_equal(model.events, LAST + 1);
    const char *file = own_file();
    char block[512], where[256];
    snprintf(where, sizeof where, "allocated in allocator (%s:%u)", file, allocator_line);
    snprintf(block, sizeof block, "32-byte block %s", where);
    expect(MAIN_BEGIN, "", "%s", "");
    expect(FORK, "T1", "T1");
    expect(ALLOC, "heap#0", "%s", block);
    expect(THREAD_STACK, "stack of T1", "stack of T1");
    expect(WRITE_COUNTER, "counter", "counter");
    expect(WRITE_ITEM, "queue.item[2]", "queue.item[2]");
    expect(WRITE_ITEMS, "queue.item", "queue.item");
    expect(WRITE_HEAP, "heap#0+8", "%s, offset 8", block);
    expect(WRITE_STACK, "stack of T1+4000", "stack of T1, offset 4000");
    expect(WRITE_NOWHERE, "0x123456789000", "0x123456789000");
    expect(LOCK_STATIC, "queue.lock", "queue.lock");
    expect(LOCK_HEAP, "heap#0+16", "read-write lock in %s, offset 16", block);
    expect(SIGNAL, "queue.filled", "queue.filled");
    expect(ATOMIC, "counter", "counter");
    expect(NOTE, "phase two", "phase two");
    expect(FREE, "heap#0", "%s", block);
    expect(JOIN, "T1", "T1");
    expect(LAST, "", "%s", "");
    assert_string_equal(hd_describe_event(describe, model.events, HD_SHORT), "?");
}

static void test_use_after_free_says_where_it_was_freed(void **state) {
    (void)state;
    char freed[256];
    snprintf(freed, sizeof freed, "freed in releaser (%s:%u)", own_file(), releaser_line);
    assert_non_null(strstr(hd_describe_event(describe, AFTER_FREE, HD_LONG), freed));
    assert_null(strstr(hd_describe_event(describe, WRITE_HEAP, HD_LONG), "freed"));
}

static void test_addresses(void **state) {
    (void)state;
    static const struct {
        uint32_t event;
        const void *object;
        uint64_t offset;
    } row[] = {{WRITE_COUNTER, &counter, 0}, {WRITE_ITEM, &queue.item[2], 0},
               {WRITE_HEAP, NULL, HEAP + 8}, {LOCK_STATIC, &queue.lock, 0},
               {LOCK_HEAP, NULL, HEAP + 16}, {SIGNAL, &queue.filled, 0},
               {ALLOC, NULL, HEAP},          {FREE, NULL, HEAP},
               {ATOMIC, &counter, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t address = 0;
        assert_true(hd_describe_address(describe, row[i].event, &address));
        assert_int_equal(address, address_of(row[i].object) + row[i].offset);
    }
    uint64_t address;
    assert_false(hd_describe_address(describe, FORK, &address));
    assert_false(hd_describe_address(describe, MAIN_BEGIN, &address));
}

static void test_places_and_stacks(void **state) {
    (void)state;
    char site[256];
    snprintf(site, sizeof site, "%s:%u", own_file(), writer_line);
    assert_string_equal(hd_describe_site(describe, WRITE_COUNTER), site);
    assert_string_equal(hd_describe_function(describe, WRITE_COUNTER), "writer");
    assert_string_equal(hd_describe_site(describe, MAIN_BEGIN), "");
    assert_string_equal(hd_describe_function(describe, MAIN_BEGIN), "");
    const struct hd_frame *frame;
    assert_int_equal(hd_describe_stack(describe, WRITE_COUNTER, &frame), 2);
    assert_string_equal(frame[0].function, "writer");
    assert_int_equal(frame[0].line, writer_line);
    assert_string_equal(frame[1].function, "caller");
    assert_int_equal(frame[1].line, caller_line);
    const struct hd_frame *again;
    assert_int_equal(hd_describe_stack(describe, WRITE_ITEM, &again), 2);
    assert_int_equal(hd_describe_stack(describe, FORK, &frame), 1);
    assert_string_equal(frame[0].function, "caller");
    assert_int_equal(hd_describe_stack(describe, MAIN_BEGIN, &frame), 0);
}

static void test_threads_and_things(void **state) {
    (void)state;
    assert_string_equal(hd_describe_thread(describe, 0), "T0");
    assert_string_equal(hd_describe_thread(describe, 1), "T1");
    assert_string_equal(hd_describe_thread(describe, 2), "?");
    assert_string_equal(hd_describe_lock(describe, model.object[LOCK_STATIC], HD_SHORT),
                        "queue.lock");
    assert_string_equal(hd_describe_lock(describe, model.locks, HD_SHORT), "?");
    assert_string_equal(hd_describe_object(describe, model.object[SIGNAL], HD_LONG),
                        "queue.filled");
    assert_string_equal(hd_describe_location(describe, model.object[WRITE_COUNTER], HD_SHORT),
                        "counter");
    assert_string_equal(hd_describe_location(describe, model.locations, HD_SHORT), "?");
    assert_string_equal(hd_describe_block(describe, model.blocks, HD_SHORT), "?");
    const char *const *line;
    assert_int_equal(hd_describe_warnings(describe, &line), 0);
}

/* ---- text traces -------------------------------------------------------------------------- */

static void test_text_traces_keep_their_words(void **state) {
    (void)state;
    char path[] = "/tmp/heddle-describe-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "main|fork(worker)|spawn\n"
                               "worker|begin|\n"
                               "worker|acq(l)|l1\n"
                               "worker|w(x[3].y)|l2\n"
                               "worker|rel(l)|l3\n"
                               "worker|signal(c)|l4\n"
                               "worker|end|\n"
                               "main|join(worker)|l5\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct hd_model own;
    struct hd_error error;
    struct hd_model_options options = {.lenient = true};
    if (!hd_model_load(path, NULL, &options, &own, &error)) fail_msg("%s", error.message);
    unlink(path);
    struct hd_describe *words = hd_describe_open(&own);
    static const char *const object[] = {"worker", "", "l", "x[3].y", "l", "c", "", "worker"};
    static const char *const site[] = {"spawn", "", "l1", "l2", "l3", "l4", "", "l5"};
    assert_int_equal(own.events, 8);
    for (uint32_t i = 0; i < own.events; i++) {
        const struct hd_frame *frame;
        uint64_t address;
        assert_string_equal(hd_describe_event(words, i, HD_SHORT), object[i]);
        assert_string_equal(hd_describe_event(words, i, HD_LONG), object[i]);
        assert_string_equal(hd_describe_site(words, i), site[i]);
        assert_string_equal(hd_describe_function(words, i), "");
        assert_int_equal(hd_describe_stack(words, i, &frame), 0);
        assert_false(hd_describe_address(words, i, &address));
        assert_string_equal(hd_describe_thread(words, own.thread[i]),
                            i == 0 || i == 7 ? "main" : "worker");
    }
    hd_describe_close(words);
    hd_model_free(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_told_by_what_they_are_about),
        cmocka_unit_test(test_use_after_free_says_where_it_was_freed),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_places_and_stacks),
        cmocka_unit_test(test_threads_and_things),
        cmocka_unit_test(test_text_traces_keep_their_words),
    };
    return cmocka_run_group_tests_name("describe", tests, write_trace, remove_trace);
}
