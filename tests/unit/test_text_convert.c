/* Conversions: text there and back, text to binary, binary to text, RapidBin both ways. */
#include "support/trace_make.h"

static struct hd_trace good_text(const char *text) {
    struct hd_trace trace;
    struct hd_error error;
    if (!read_text(text, &trace, &error)) fail_msg("%s", error.message);
    return trace;
}

/* ---- text --------------------------------------------------------------------------------- */

static const char canonical[] = "main|fork(worker)|a.c:1\n"
                                "worker|begin|\n"
                                "main|r(x)|a.c:2\n"
                                "main|w(x+8:4)|a.c:2\n"
                                "worker|r(buf[3].len:2)|7\n"
                                "main|ar(f)|\n"
                                "main|aw(f:4,release)|\n"
                                "main|arw(f:8,acq_rel)|\n"
                                "main|fence|\n"
                                "main|fence(acquire)|\n"
                                "main|acq(l+4)|\n"
                                "main|rel(l+4)|\n"
                                "main|racq(rw)|\n"
                                "main|rrel(rw)|\n"
                                "main|tryfail(rw)|\n"
                                "main|signal(c)|\n"
                                "main|broadcast(c)|\n"
                                "worker|wait(c)|\n"
                                "worker|timeout(c)|\n"
                                "worker|barrier(b)|\n"
                                "worker|seminit(m+8:3)|\n"
                                "worker|post(m+8)|\n"
                                "worker|wait(m+8)|\n"
                                "worker|alloc(p:300)|\n"
                                "worker|alloc(q:1)|\n"
                                "worker|w(p:300)|\n"
                                "worker|r(p+256:4)|\n"
                                "worker|free(p)|\n"
                                "worker|branch|\n"
                                "worker|branch(0)|\n"
                                "worker|branch(70000)|\n"
                                "worker|note(hello world)|\n"
                                "worker|note|\n"
                                "worker|blocked(c)|\n"
                                "worker|blocked(main)|\n"
                                "main|detach(worker)|\n"
                                "worker|end|\n"
                                "main|join(worker)|last\n";

static void canonical_text_comes_back(void **unused) {
    (void)unused;
    struct hd_trace trace = good_text(canonical);
    char *text = text_of(&trace, NULL);
    assert_string_equal(text, canonical);
    free(text);
    hd_trace_free(&trace);
    /* offsets keep their base; names that look like operands are told apart */
    static const char odd[] = "T|r(x+0x1f:4)|\nT|r(a+1:2+0x0:1)|\nT|w(a:4+0x0:1)|\n";
    trace = good_text(odd);
    assert_int_equal(trace.variables, 3);
    text = text_of(&trace, NULL);
    assert_string_equal(text, odd);
    free(text);
    hd_trace_free(&trace);
}

static struct hd_trace through_file(const struct hd_trace *trace) {
    const char *path = temporary("through.hdt");
    struct hd_error error;
    struct hd_trace back;
    if (!hd_trace_save(trace, path, &error)) fail_msg("%s", error.message);
    if (!hd_trace_load(path, NULL, &back, &error)) fail_msg("%s", error.message);
    unlink(path);
    return back;
}

static void text_survives_the_binary_format(void **unused) {
    (void)unused;
    struct hd_trace trace = good_text(canonical);
    struct hd_trace back = through_file(&trace);
    assert_same_trace(&trace, &back);
    char *text = text_of(&back, NULL);
    assert_string_equal(text, canonical);
    free(text);
    hd_trace_free(&back);
    hd_trace_free(&trace);
    trace = good_text("T0|fork(never)|1\n"); /* a thread without events */
    back = through_file(&trace);
    assert_same_trace(&trace, &back);
    hd_trace_free(&back);
    hd_trace_free(&trace);
    trace = good_text("");
    back = through_file(&trace);
    assert_same_trace(&trace, &back);
    hd_trace_free(&back);
    hd_trace_free(&trace);
}

/* Enough names for several NAMES chunks. */
static void many_names_survive(void **unused) {
    (void)unused;
    enum { NAMES = 60000 };
    size_t size = (size_t)NAMES * 80, at = 0;
    char *text = malloc(size);
    assert_non_null(text);
    for (unsigned i = 0; i < NAMES; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "T%u|w(a_variable_with_a_long_name_%u:4)|file%u.c:%u\n", i % 7, i,
                               i % 100, i);
    struct hd_trace trace = good_text(text);
    struct hd_trace back = through_file(&trace);
    assert_int_equal(trace.variables, NAMES);
    assert_same_trace(&trace, &back);
    hd_trace_free(&back);
    hd_trace_free(&trace);
    free(text);
}

/* ---- binary to text ----------------------------------------------------------------------- */

/* Which of two events touch common bytes. */
static bool overlap(const struct hd_trace *trace, uint32_t a, uint32_t b) {
    uint64_t end_a = trace->operand[a] + hd_trace_size(trace, a);
    uint64_t end_b = trace->operand[b] + hd_trace_size(trace, b);
    return trace->operand[a] < end_b && trace->operand[b] < end_a;
}

static bool touches_memory(const struct hd_trace *trace, uint32_t event) {
    switch (hd_kind_class(trace->kind[event])) {
    case HD_CLASS_ACCESS:
    case HD_CLASS_MEMORY:
        return true;
    case HD_CLASS_ATOMIC:
        return trace->kind[event] != HD_EV_FENCE;
    default:
        return false;
    }
}

static struct hd_trace loaded(struct made_run *run) {
    const char *path = temporary("loaded.hdt");
    struct hd_error error;
    struct hd_trace trace;
    made_write(run, path);
    if (!hd_trace_load(path, NULL, &trace, &error)) fail_msg("%s", error.message);
    unlink(path);
    return trace;
}

/* A run whose operands make sense. */
static void sensible_run(struct made_run *run) {
    static const unsigned kinds[] = {
        HD_EV_READ,     HD_EV_WRITE,        HD_EV_ATOMIC_READ,   HD_EV_ATOMIC_WRITE,
        HD_EV_ACQUIRE,  HD_EV_READ_ACQUIRE, HD_EV_READ_RELEASE,  HD_EV_RELEASE,
        HD_EV_SIGNAL,   HD_EV_WAIT,         HD_EV_POST,          HD_EV_SEM_WAIT,
        HD_EV_SEM_INIT, HD_EV_ALLOC,        HD_EV_FREE,          HD_EV_FORK,
        HD_EV_JOIN,     HD_EV_FENCE,        HD_EV_BARRIER_LEAVE, HD_EV_BARRIER_ARRIVE};
    made_start(run, false, 4, 400);
    unsigned thread = 0;
    while (run->events < 400) {
        struct made_event *e = &run->event[run->events++];
        if (below(3) == 0) {
            thread = (unsigned)below(4);
            made_put(run, 0, HD_EV_THREAD, 0, thread, 0);
        }
        e->thread = thread;
        e->kind = kinds[below(sizeof kinds / sizeof kinds[0])];
        e->operand = 0x7f0000000000ull + below(40) * 4 + below(2) * 0x40000000;
        switch (hd_kind_class(e->kind)) {
        case HD_CLASS_ACCESS:
            e->flags = 1u << below(4);
            break;
        case HD_CLASS_ATOMIC:
            e->flags = 2 | (unsigned)below(6) << 4;
            break;
        case HD_CLASS_LOCK:
            e->operand = 0x5000 + below(3) * 40;
            break;
        case HD_CLASS_SYNC:
            e->operand = (e->kind == HD_EV_SIGNAL || e->kind == HD_EV_WAIT ? 0x6000 : 0x7000) +
                         below(3) * 48;
            if (e->kind == HD_EV_BARRIER_ARRIVE) e->operand += 0x1000;
            break;
        case HD_CLASS_THREAD:
            e->operand = below(4);
            break;
        default:
            break;
        }
        if (e->kind == HD_EV_FENCE) e->operand = 0;
        if (e->kind == HD_EV_ALLOC || e->kind == HD_EV_FREE)
            made_put(run, 0, HD_EV_EXT, 0, 8 + below(5) * 8, 0);
        made_put(run, 0, e->kind, e->flags, e->operand, hd_wire_tail((uint32_t)below(50), 1, 0));
    }
}

static void binary_traces_keep_their_overlaps(void **unused) {
    (void)unused;
    for (unsigned round = 0; round < 10; round++) {
        struct made_run run;
        sensible_run(&run);
        struct hd_trace binary = loaded(&run);
        struct hd_text_options options = {.no_branches = true};
        char *words = text_of(&binary, &options);
        struct hd_trace text = good_text(words);
        uint32_t *from = calloc(binary.events + 1, sizeof *from); /* text event -> binary event */
        assert_non_null(from);
        uint32_t at = 0;
        for (uint32_t i = 0; i < binary.events; i++) {
            if (binary.kind[i] == HD_EV_BARRIER_LEAVE) continue; /* has no line */
            assert_true(at < text.events);
            from[at] = i;
            assert_int_equal(text.kind[at], binary.kind[i]);
            char name[16];
            snprintf(name, sizeof name, "T%u", binary.thread[i]);
            assert_string_equal(text.thread_names[text.thread[at]], name);
            if (hd_kind_class(binary.kind[i]) == HD_CLASS_ATOMIC)
                assert_int_equal(text.flags[at] >> 4, binary.flags[i] >> 4);
            at++;
        }
        assert_int_equal(at, text.events);
        for (uint32_t i = 0; i < text.events; i++) {
            for (uint32_t k = 0; k < i; k++) {
                if (!touches_memory(&text, i) || !touches_memory(&text, k)) continue;
                /* a free is as large as its block in the text, and may have said else before */
                if (text.kind[i] == HD_EV_FREE || text.kind[k] == HD_EV_FREE) continue;
                if (overlap(&text, i, k) != overlap(&binary, from[i], from[k]))
                    fail_msg("events %u and %u: %s", from[k], from[i], words);
            }
        }
        /* the text of the text is the same */
        char *again = text_of(&text, NULL);
        assert_string_equal(again, words);
        free(again);
        free(from);
        free(words);
        hd_trace_free(&text);
        hd_trace_free(&binary);
        made_free(&run);
    }
}

static struct hd_trace small_binary(const struct hd_wire_event *event, size_t count,
                                    bool branches) {
    const char *path = temporary("small.hdt");
    struct hd_error error;
    struct hd_trace trace;
    struct hd_trace_about about = {.options = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_trace_end end = {0};
    struct hd_writer *writer = hd_writer_open(path, &about, &error);
    assert_non_null(writer);
    assert_true(hd_writer_events(writer, 0, event, count, &error));
    assert_true(hd_writer_finish(writer, &end, branches, &error));
    assert_true(hd_trace_load(path, NULL, &trace, &error));
    unlink(path);
    return trace;
}

static const char *variable_name(void *context, uint32_t event, uint64_t address,
                                 uint64_t *offset) {
    (void)context, (void)event;
    if (address >= 0x1000 && address < 0x2000) return *offset = address - 0x1000, "table";
    if (address >= 0x3000 && address < 0x4000) return *offset = address - 0x3000, "table";
    if (address >= 0x5000 && address < 0x6000) return *offset = 0, "a strange|name:4";
    return NULL;
}
static const char *site_name(void *context, uint32_t site) {
    (void)context;
    return site == 7 ? "a file.c:7" : NULL;
}
static const char *thread_name(void *context, uint32_t thread) {
    (void)context;
    return thread == 0 ? "main" : "worker";
}

static void callers_give_names(void **unused) {
    (void)unused;
    const struct hd_wire_event event[] = {
        {hd_wire_head(HD_EV_WRITE, 4, 0x1008), hd_wire_tail(7, 1, 2)},
        {hd_wire_head(HD_EV_WRITE, 8, 0x1000), hd_wire_tail(8, 1, 0)},
        {hd_wire_head(HD_EV_WRITE, 4, 0x3008), hd_wire_tail(0, 1, 1)}, /* another table */
        {hd_wire_head(HD_EV_READ, 1, 0x5000), hd_wire_tail(0, 1, 0)},
        {hd_wire_head(HD_EV_READ, 2, 0x9000), hd_wire_tail(0, 1, 0)},
        {hd_wire_head(HD_EV_READ, 2, 0x9001), hd_wire_tail(0, 1, 0)},
        {hd_wire_head(HD_EV_ACQUIRE, 0, 0x1010), hd_wire_tail(0, 1, 0)},
        {hd_wire_head(HD_EV_ACQUIRE, 0, 0x9900), hd_wire_tail(0, 1, 0)},
        {hd_wire_head(HD_EV_SIGNAL, 0, 0x1010), hd_wire_tail(0, 1, 0)}, /* lock's place reused */
        {hd_wire_head(HD_EV_THREAD, 0, 1), 0},
        {hd_wire_head(HD_EV_FORK, 0, 2), hd_wire_tail(0, 1, 0)},
        {hd_wire_head(HD_EV_NOTE, 0, 0x9000), hd_wire_tail(0, 1, 0)},
    };
    struct hd_trace trace = small_binary(event, sizeof event / sizeof event[0], true);
    struct hd_text_options options = {
        .names = {.variable = variable_name, .site = site_name, .thread = thread_name}};
    char *text = text_of(&trace, &options);
    assert_string_equal(text, "main|branch(2)|a_file.c:7\n"
                              "main|w(table+0x8:4)|a_file.c:7\n"
                              "main|w(table:8)|8\n"
                              "main|branch|\n"
                              "main|w(table@2+0x8:4)|\n"
                              "main|r(a_strange_name:4+0x0:1)|\n"
                              "main|r(m1:2)|\n"
                              "main|r(m1+0x1:2)|\n"
                              "main|acq(table+0x10)|\n"
                              "main|acq(l1)|\n"
                              "main|signal(table+0x10@2)|\n"
                              "worker|fork(T2)|\n"
                              "worker|note|\n");
    free(text);
    options.no_branches = true;
    text = text_of(&trace, &options);
    assert_null(strstr(text, "branch"));
    free(text);
    hd_trace_free(&trace);
}

/* A text variable has 16 MB: a larger block takes several. */
static void large_blocks_take_several_lines(void **unused) {
    (void)unused;
    const struct hd_wire_event event[] = {
        {hd_wire_head(HD_EV_EXT, 0, 40u << 20), 0},
        {hd_wire_head(HD_EV_ALLOC, 0, 0x10000000), hd_wire_tail(1, 1, 0)},
        {hd_wire_head(HD_EV_WRITE, 8, 0x10000000 + (16u << 20) - 4), hd_wire_tail(2, 1, 0)},
        {hd_wire_head(HD_EV_WRITE, 8, 0x10000000 + (33u << 20)), hd_wire_tail(3, 1, 0)},
        {hd_wire_head(HD_EV_FREE, 0, 0x10000000), hd_wire_tail(4, 1, 0)},
        {hd_wire_head(HD_EV_EXT, 0, 0xffffffffffffull), 0}, /* nobody has that much */
        {hd_wire_head(HD_EV_ALLOC, 0, 0x20000000), hd_wire_tail(5, 1, 0)},
    };
    struct hd_trace trace = small_binary(event, sizeof event / sizeof event[0] - 2, false);
    char *text = text_of(&trace, NULL);
    assert_string_equal(text, "T0|alloc(m1:16777216)|1\n"
                              "T0|alloc(m2:16777216)|1\n"
                              "T0|alloc(m3:8388608)|1\n"
                              "T0|w(m1+0xfffffc:4)|2\n"
                              "T0|w(m2:4)|2\n"
                              "T0|w(m3+0x100000:8)|3\n"
                              "T0|free(m1)|4\n"
                              "T0|free(m2)|4\n"
                              "T0|free(m3)|4\n");
    free(text);
    hd_trace_free(&trace);
    trace = small_binary(event, sizeof event / sizeof event[0], false);
    text = text_of(&trace, NULL);
    assert_true(strlen(text) < 1000000);
    free(text);
    hd_trace_free(&trace);
}

/* ---- RapidBin ----------------------------------------------------------------------------- */

static struct bytes rapidbin_of(const struct hd_trace *trace, uint64_t expect_left_out) {
    const char *path = temporary("rapidbin");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct hd_error error;
    uint64_t left_out;
    if (!hd_rapidbin_write(trace, fd, path, &left_out, &error)) fail_msg("%s", error.message);
    assert_int_equal(left_out, expect_left_out);
    close(fd);
    struct bytes all = read_all(path);
    unlink(path);
    return all;
}

static void rapidbin_there_and_back(void **unused) {
    (void)unused;
    static const char text[] = "T0|fork(T3)|12\nT3|begin|13\nT0|w(V7)|1\nT3|acq(L2)|2\n"
                               "T3|r(V7)|32767\nT3|rel(L2)|4\nT3|branch|5\nT3|end|6\n"
                               "T0|join(T3)|7\n";
    struct hd_trace trace = good_text(text);
    struct bytes file = rapidbin_of(&trace, 0);
    assert_int_equal(file.size, 18 + 9 * 8);
    static const uint8_t header[] = {0, 4, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9};
    assert_memory_equal(file.data, header, sizeof header);
    /* w(V7) by T0 at site 1: op 3, decor 7 */
    static const uint8_t word[] = {0, 1, 0, 0, 0, 1, 0xcc, 0};
    assert_memory_equal(file.data + 18 + 16, word, sizeof word);
    struct hd_trace back;
    struct hd_error error;
    if (!hd_trace_read(file.data, file.size, "file", NULL, &back, &error))
        fail_msg("%s", error.message);
    assert_int_equal(back.format, HD_FORMAT_RAPIDBIN);
    assert_true(back.end.whole);
    char *again = text_of(&back, NULL);
    assert_string_equal(again, text);
    struct bytes second = rapidbin_of(&back, 0);
    assert_int_equal(second.size, file.size);
    assert_memory_equal(second.data, file.data, file.size);
    /* cut short: what is there is read */
    struct hd_trace cut;
    assert_true(hd_trace_read(file.data, file.size - 3, "file", NULL, &cut, &error));
    assert_int_equal(cut.events, 8);
    assert_false(cut.end.whole);
    assert_non_null(strstr(cut.end.missing, "promises 9 events, the file has 8"));
    hd_trace_free(&cut);
    struct hd_trace saved = through_file(&back);
    assert_same_trace(&back, &saved);
    hd_trace_free(&saved);
    free(second.data);
    free(again);
    free(file.data);
    hd_trace_free(&back);
    hd_trace_free(&trace);
}

static void rapidbin_numbers_other_names(void **unused) {
    (void)unused;
    /* x+0:8 and x+4:4 overlap, x+8 does not; signal has no word in RapidBin */
    struct hd_trace trace = good_text("main|w(x:8)|a.c:1\nmain|w(x+4:4)|a.c:2\nmain|w(x+8)|a.c:1\n"
                                      "main|signal(c)|\nmain|acq(l)|\nmain|ar(y)|\n");
    struct bytes file = rapidbin_of(&trace, 2);
    struct hd_trace back;
    struct hd_error error;
    assert_true(hd_trace_read(file.data, file.size, "file", NULL, &back, &error));
    char *text = text_of(&back, NULL);
    assert_string_equal(text, "T0|w(V0)|0\nT0|w(V0)|1\nT0|w(V1)|0\nT0|acq(L0)|2\n");
    free(text);
    free(file.data);
    hd_trace_free(&back);
    hd_trace_free(&trace);
    /* two parts of V1 cannot both be V1 */
    trace = good_text("T0|w(V1:4)|1\nT0|w(V1+8:4)|1\n");
    file = rapidbin_of(&trace, 0);
    assert_true(hd_trace_read(file.data, file.size, "file", NULL, &back, &error));
    assert_int_not_equal(back.operand[0], back.operand[1]);
    free(file.data);
    hd_trace_free(&back);
    hd_trace_free(&trace);
}

static void rapidbin_has_limits(void **unused) {
    (void)unused;
    size_t size = (size_t)1100 * 16, at = 0;
    char *text = malloc(size);
    assert_non_null(text);
    for (unsigned i = 0; i < 1025; i++)
        at += (size_t)snprintf(text + at, size - at, "t%u|r(x)|\n", i);
    struct hd_trace trace = good_text(text);
    struct hd_error error;
    uint64_t left_out;
    int fd = open("/dev/null", O_WRONLY);
    assert_false(hd_rapidbin_write(&trace, fd, "out", &left_out, &error));
    assert_int_equal(error.code, HD_ERR_LIMIT);
    assert_non_null(strstr(error.message, "1024 threads"));
    close(fd);
    hd_trace_free(&trace);
    free(text);
    /* operations that do not exist */
    uint8_t file[18 + 8] = {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    file[18 + 6] = 15 << 2;
    assert_false(hd_trace_read(file, sizeof file, "file", NULL, &trace, &error));
    assert_int_equal(error.code, HD_ERR_FORMAT);
    assert_non_null(strstr(error.message, "unknown operation 15"));
    file[18 + 6] = 8 << 2; /* a lock request: no event */
    assert_true(hd_trace_read(file, sizeof file, "file", NULL, &trace, &error));
    assert_int_equal(trace.events, 0);
    hd_trace_free(&trace);
}

/* ---- failures ----------------------------------------------------------------------------- */

static void a_full_disk_is_reported(void **unused) {
    (void)unused;
    struct hd_trace trace = good_text(canonical);
    struct hd_error error;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) skip();
    assert_false(hd_text_write(&trace, fd, "out", NULL, &error));
    assert_int_equal(error.code, HD_ERR_IO);
    assert_non_null(strstr(error.message, "out: cannot write: No space left"));
    close(fd);
    assert_false(hd_trace_save(&trace, "/dev/full", &error));
    assert_int_equal(error.code, HD_ERR_IO);
    hd_trace_free(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_text_comes_back),
        cmocka_unit_test(text_survives_the_binary_format),
        cmocka_unit_test(many_names_survive),
        cmocka_unit_test(binary_traces_keep_their_overlaps),
        cmocka_unit_test(callers_give_names),
        cmocka_unit_test(large_blocks_take_several_lines),
        cmocka_unit_test(rapidbin_there_and_back),
        cmocka_unit_test(rapidbin_numbers_other_names),
        cmocka_unit_test(rapidbin_has_limits),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
