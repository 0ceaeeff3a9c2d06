/* The text format: what lines mean, and what is said about lines that mean nothing. */
#include "support/trace_help.h"

static struct hd_trace good_text(const char *text) {
    struct hd_trace trace;
    struct hd_error error;
    if (!read_text(text, &trace, &error)) fail_msg("%s", error.message);
    assert_int_equal(trace.format, HD_FORMAT_TEXT);
    assert_true(trace.exact && trace.end.whole);
    return trace;
}

/* ---- lines -------------------------------------------------------------------------------- */

static void every_operation(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("T0|fork(T1)|s\n"
                                  "T1|begin|\n"
                                  "T0|r(x)|\n"
                                  "T0|w(x+8:4)|\n"
                                  "T0|ar(f:4)|\n"
                                  "T0|aw(f:4,release)|\n"
                                  "T0|arw(f:8)|\n"
                                  "T0|fence|\n"
                                  "T0|fence(acquire)|\n"
                                  "T0|acq(l)|\n"
                                  "T0|rel(l)|\n"
                                  "T0|racq(rw)|\n"
                                  "T0|rrel(rw)|\n"
                                  "T0|tryfail(l)|\n"
                                  "T0|signal(c)|\n"
                                  "T0|broadcast(c)|\n"
                                  "T1|wait(c)|\n"
                                  "T1|timeout(c)|\n"
                                  "T1|barrier(b)|\n"
                                  "T1|seminit(m:3)|\n"
                                  "T1|post(m)|\n"
                                  "T1|wait(m)|\n"
                                  "T1|alloc(p:300)|\n"
                                  "T1|w(p:300)|\n"
                                  "T1|free(p)|\n"
                                  "T1|branch|\n"
                                  "T1|branch(7)|\n"
                                  "T1|note(hello world)|\n"
                                  "T1|note|\n"
                                  "T1|blocked(l)|\n"
                                  "T0|detach(T1)|\n"
                                  "T1|end|\n"
                                  "T0|join(T1)|\n");
    static const uint8_t kind[] = {
        HD_EV_FORK,         HD_EV_BEGIN,        HD_EV_READ,           HD_EV_WRITE,
        HD_EV_ATOMIC_READ,  HD_EV_ATOMIC_WRITE, HD_EV_ATOMIC_UPDATE,  HD_EV_FENCE,
        HD_EV_FENCE,        HD_EV_ACQUIRE,      HD_EV_RELEASE,        HD_EV_READ_ACQUIRE,
        HD_EV_READ_RELEASE, HD_EV_TRY_FAILED,   HD_EV_SIGNAL,         HD_EV_BROADCAST,
        HD_EV_WAIT,         HD_EV_WAIT_TIMEOUT, HD_EV_BARRIER_ARRIVE, HD_EV_SEM_INIT,
        HD_EV_POST,         HD_EV_SEM_WAIT,     HD_EV_ALLOC,          HD_EV_WRITE,
        HD_EV_FREE,         HD_EV_BRANCH,       HD_EV_BRANCH,         HD_EV_NOTE,
        HD_EV_NOTE,         HD_EV_BLOCKED,      HD_EV_DETACH,         HD_EV_END,
        HD_EV_JOIN};
    assert_int_equal(t.events, sizeof kind);
    assert_memory_equal(t.kind, kind, sizeof kind);
    assert_int_equal(t.threads, 2);
    assert_string_equal(t.thread_names[1], "T1");
    assert_int_equal(t.operand[0], 1);
    assert_int_equal(t.flags[2], 1);
    assert_int_equal(t.flags[3], 4);
    assert_int_equal(t.operand[3], t.operand[2] + 8);
    assert_string_equal(t.variable_names[t.operand[3] >> HD_TEXT_SHIFT], "x");
    assert_int_equal(t.flags[4], 2 | __ATOMIC_SEQ_CST << 4);
    assert_int_equal(t.flags[5], 2 | __ATOMIC_RELEASE << 4);
    assert_int_equal(t.flags[6], 3 | __ATOMIC_SEQ_CST << 4);
    assert_int_equal(t.operand[4], t.operand[6]);
    assert_int_equal(t.flags[8], __ATOMIC_ACQUIRE << 4);
    assert_int_equal(t.flags[9], HD_LOCK_MUTEX);
    assert_int_equal(t.flags[11], HD_LOCK_RWLOCK);
    assert_string_equal(t.object_names[t.operand[11]], "rw");
    assert_int_equal(hd_trace_extra(&t, 14, 0), 1);
    assert_int_equal(hd_trace_extra(&t, 15, 0), 2);
    assert_int_equal(hd_trace_extra(&t, 16, 0), 2);
    assert_int_equal(hd_trace_extra(&t, 19, 0), 3);
    assert_int_equal(hd_trace_size(&t, 22), 300);
    assert_int_equal(t.flags[23], 0);
    assert_int_equal(hd_trace_size(&t, 23), 300);
    assert_int_equal(hd_trace_size(&t, 24), 300);
    assert_int_equal(t.operand[25], 1);
    assert_int_equal(t.operand[26], 7);
    assert_int_equal(t.branches[26], 7);
    assert_true(t.has_branches);
    assert_string_equal(t.object_names[t.operand[27]], "hello world");
    assert_string_equal(t.object_names[t.operand[28]], "");
    assert_int_equal(t.flags[29], HD_WAIT_LOCK);
    assert_int_equal(t.operand[29], t.operand[9]);
    assert_string_equal(t.site_names[t.site[0]], "s");
    assert_null(t.site_names[t.site[1]]);
    assert_int_equal(t.warnings, 0);
    hd_trace_free(&t);
}

static void loose_spelling_is_understood(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("# a comment\r\n"
                                  "\n"
                                  "   \t\r\n"
                                  "  T0 | r ( x ) |  a file.c:3 \r\n"
                                  "  # another\n"
                                  "T0|req(l)|4\n"
                                  "T0|acq(l)\n"
                                  "elsewhere|dummy(a)|1\n"
                                  "T0|w(V1.2[3](a,b))|17\n"
                                  "T0|begin(anything)|0\n"
                                  "T0|r(x)|a file.c:3");
    assert_int_equal(t.events, 5); /* hints are no events */
    assert_int_equal(t.threads, 1);
    assert_int_equal(t.sites, 4); /* none, the file's, 17, 0 */
    assert_string_equal(t.site_names[t.site[0]], "a file.c:3");
    assert_int_equal(t.site[0], t.site[4]);
    assert_int_equal(t.operand[0], t.operand[4]);
    assert_null(t.site_names[t.site[1]]);
    assert_string_equal(t.variable_names[t.operand[2] >> HD_TEXT_SHIFT], "V1.2[3](a,b)");
    assert_int_equal(t.kind[3], HD_EV_BEGIN);
    hd_trace_free(&t);
    t = good_text("");
    assert_int_equal(t.events, 0);
    assert_int_equal(t.threads, 0);
    assert_int_equal(t.stacks, 1);
    hd_trace_free(&t);
}

static void operands_have_offset_and_size(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("T0|r(x)|\n"
                                  "T0|r(x:8)|\n"
                                  "T0|r(x+4)|\n"
                                  "T0|r(x+0x10:2)|\n"
                                  "T0|r(x+16777215)|\n"
                                  "T0|r(x:16777216)|\n"
                                  "T0|r(y+z:w)|\n"  /* no numbers: a name */
                                  "T0|r(a::b:4)|\n" /* a name with colons */
                                  "T0|r(+4)|\n"     /* nothing to add to */
                                  "T0|r(:4)|\n");
    static const uint64_t offset[] = {0, 0, 4, 16, 16777215, 0};
    static const uint64_t size[] = {1, 8, 1, 2, 1, 16777216};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(t.operand[i], offset[i]);
        assert_int_equal(hd_trace_size(&t, i), size[i]);
    }
    assert_string_equal(t.variable_names[t.operand[6] >> HD_TEXT_SHIFT], "y+z:w");
    assert_string_equal(t.variable_names[t.operand[7] >> HD_TEXT_SHIFT], "a::b");
    assert_int_equal(hd_trace_size(&t, 7), 4);
    assert_string_equal(t.variable_names[t.operand[8] >> HD_TEXT_SHIFT], "+4");
    assert_string_equal(t.variable_names[t.operand[9] >> HD_TEXT_SHIFT], ":4");
    hd_trace_free(&t);
}

/* ---- what depends on other lines ---------------------------------------------------------- */

static void waits_find_their_signal(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("A|signal(c)|\n" /* 1 */
                                  "B|r(x)|\n"
                                  "B|wait(c)|\n" /* signal 1 is older than r(x) */
                                  "A|signal(c)|\n"
                                  "A|broadcast(c)|\n"
                                  "A|signal(d)|\n"
                                  "B|wait(c)|\n" /* the latest: broadcast 3 */
                                  "C|wait(c)|\n" /* its first event */
                                  "C|wait(e)|\n" /* signalled later only */
                                  "A|signal(e)|\n"
                                  "D|wait(nobody)|\n");
    assert_int_equal(hd_trace_extra(&t, 2, 0), 0);
    assert_int_equal(hd_trace_extra(&t, 6, 0), 3);
    assert_int_equal(hd_trace_extra(&t, 7, 0), 3);
    assert_int_equal(hd_trace_extra(&t, 8, 0), 0);
    assert_int_equal(hd_trace_extra(&t, 9, 0), 5);
    assert_int_equal(t.kind[10], HD_EV_WAIT);
    hd_trace_free(&t);
    /* a semaphore is known by what comes before or after */
    t = good_text("A|wait(s)|\nB|post(s)|\nA|seminit(q)|\nB|wait(q)|\n");
    assert_int_equal(t.kind[0], HD_EV_SEM_WAIT);
    assert_int_equal(t.kind[3], HD_EV_SEM_WAIT);
    assert_int_equal(hd_trace_extra(&t, 2, 9), 0);
    hd_trace_free(&t);
}

static void barrier_rounds(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("A|barrier(b)|\n" /* round 1 */
                                  "B|barrier(b)|\n"
                                  "C|barrier(other)|\n" /* round 2 */
                                  "A|r(x)|\n"           /* closes round 1 */
                                  "C|barrier(b)|\n"     /* round 3 */
                                  "B|barrier(b)|\n"
                                  "A|barrier(b)|\n"
                                  "A|barrier(b)|\n"     /* round 4 */
                                  "D|barrier(other)|\n" /* round 2 was closed by C */
                                  "B|barrier(b)|\n");
    static const struct {
        uint32_t event;
        uint64_t round;
    } expected[] = {{0, 1}, {1, 1}, {2, 2}, {4, 3}, {5, 3}, {6, 3}, {7, 4}, {8, 5}, {9, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(hd_trace_extra(&t, expected[i].event, 0), expected[i].round);
    hd_trace_free(&t);
}

static void numbers_for_threads(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("T1|fork(122)|\n"
                                  "T122|r(x)|\n"
                                  "T1|fork(7)|\n"
                                  "T7|begin|\n"
                                  "T1|fork(9)|\n" /* nobody: a thread without events */
                                  "T1|join(122)|\n"
                                  "T1|blocked(7)|\n");
    assert_int_equal(t.threads, 4);
    assert_string_equal(t.thread_names[0], "T1");
    assert_string_equal(t.thread_names[1], "T122");
    assert_string_equal(t.thread_names[2], "T7");
    assert_string_equal(t.thread_names[3], "9");
    static const uint64_t operand[] = {1, 0, 2, 2, 3, 1, 2};
    static const uint16_t thread[] = {0, 1, 0, 2, 0, 0, 0};
    for (uint32_t i = 0; i < 7; i++) {
        if (i != 1) assert_int_equal(t.operand[i], operand[i]);
        assert_int_equal(t.thread[i], thread[i]);
    }
    assert_int_equal(t.flags[6], HD_WAIT_JOIN);
    assert_int_equal(t.warnings, 1);
    assert_non_null(strstr(t.warning[0], "T122"));
    assert_non_null(strstr(t.warning[0], "1 more"));
    hd_trace_free(&t);
    /* numbers go by first mention, under either name */
    t = good_text("A|fork(5)|\nB|fork(6)|\nT6|begin|\nT5|begin|\n");
    assert_string_equal(t.thread_names[1], "T5");
    assert_string_equal(t.thread_names[3], "T6");
    assert_int_equal(t.operand[0], 1);
    assert_int_equal(t.operand[1], 3);
    assert_int_equal(t.thread[2], 3);
    assert_int_equal(t.thread[3], 1);
    hd_trace_free(&t);
    /* a thread that is there under the name that was given is that thread */
    t = good_text("T1|fork(1)|\n1|r(x)|\n");
    assert_int_equal(t.operand[0], 1);
    assert_int_equal(t.threads, 2);
    assert_int_equal(t.warnings, 0);
    hd_trace_free(&t);
}

static void frees_know_their_size(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("A|free(p)|\n" /* never allocated: as far as it is used */
                                  "A|w(p+8:8)|\n"
                                  "A|alloc(q:16)|\n"
                                  "A|free(q)|\n"
                                  "A|alloc(q:32)|\n"
                                  "A|free(q)|\n"
                                  "A|free(q)|\n"
                                  "A|free(z)|\n");
    static const uint64_t size[] = {16, 8, 16, 16, 32, 32, 32, 1};
    for (uint32_t i = 0; i < 8; i++) assert_int_equal(hd_trace_size(&t, i), size[i]);
    hd_trace_free(&t);
}

static void read_locks_make_read_write_locks(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("A|acq(l)|\nA|rel(l)|\nA|acq(m)|\nB|racq(l)|\n");
    assert_int_equal(t.flags[0], HD_LOCK_RWLOCK);
    assert_int_equal(t.flags[1], HD_LOCK_RWLOCK);
    assert_int_equal(t.flags[2], HD_LOCK_MUTEX);
    hd_trace_free(&t);
}

static void blocked_threads(void **unused) {
    (void)unused;
    struct hd_trace t = good_text("A|blocked(l)|\nA|blocked(c)|\nA|blocked(b)|\nA|blocked(s)|\n"
                                  "A|blocked(B)|\nA|blocked(o)|\n"
                                  "B|acq(l)|\nB|signal(c)|\nB|barrier(b)|\nB|post(s)|\nB|aw(o)|\n");
    static const uint8_t type[] = {HD_WAIT_LOCK, HD_WAIT_COND, HD_WAIT_BARRIER,
                                   HD_WAIT_SEM,  HD_WAIT_JOIN, HD_WAIT_ONCE};
    assert_memory_equal(t.flags, type, sizeof type);
    assert_int_equal(t.operand[4], 1);
    assert_int_equal(t.operand[0], t.operand[6]);
    hd_trace_free(&t);
}

/* ---- malformed lines ---------------------------------------------------------------------- */

static void malformed_lines_are_named(void **unused) {
    (void)unused;
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"garbage", "'garbage' is not thread|op(object)|site"},
        {"T0", "is not thread"},
        {"|r(x)|1", "thread is missing"},
        {"|req(x)|1", "thread is missing"},
        {"T0||1", "operation is missing"},
        {"T0|", "operation is missing"},
        {"T0|(x)|1", "unknown operation ''"},
        {"T0|read(x)|1", "unknown operation 'read'"},
        {"T0|R(x)|1", "unknown operation 'R'"},
        {"T0|r(x|1", "does not end with ')'"},
        {"T0|r(x)y|1", "does not end with ')'"},
        {"T0|rx)|1", "')' without '('"},
        {"T0|r|1", "r needs an object"},
        {"T0|w()|1", "w needs an object"},
        {"T0|acq( )|1", "acq needs an object"},
        {"T0|fork|1", "fork needs an object"},
        {"T0|wait|1", "wait needs an object"},
        {"T0|r(x:0)|1", "size 0"},
        {"T0|r(x+16777216)|1", "beyond byte 16777216"},
        {"T0|r(x+16777215:2)|1", "beyond byte 16777216"},
        {"T0|r(x:99999999999999999999)|1", "beyond byte"},
        {"T0|r(x+99999999999999999999)|1", "beyond byte"},
        {"T0|alloc(x:16777217)|1", "beyond byte"},
        {"T0|aw(x:3)|1", "atomic of 3 bytes"},
        {"T0|aw(x:32)|1", "atomic of 32 bytes"},
        {"T0|aw(,relaxed)|1", "object is missing"},
        {"T0|fence(sideways)|1", "'sideways' is no memory order"},
        {"T0|branch(x)|1", "'x' is no number"},
        {"T0|branch(-1)|1", "'-1' is no number"},
        {"T0|branch(99999999999)|1", "no number"},
        {"T0|seminit(s:99999999999)|1", "too large"},
        {"T0|blocked(what)|1", "blocked(what)"},
        {"T0|r(x\x01y|1", "'r(x?y'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "# comment\nT0|r(a)|1\n\n%s\nT0|r(b)|2\n", cases[i].line);
        struct hd_trace trace;
        struct hd_error error;
        if (read_text(text, &trace, &error)) fail_msg("'%s' was read", cases[i].line);
        assert_int_equal(error.code, HD_ERR_FORMAT);
        if (strncmp(error.message, "test:4: ", 8) != 0 ||
            strstr(error.message, cases[i].words) == NULL)
            fail_msg("'%s' gave '%s'", cases[i].line, error.message);
    }
}

static void names_may_not_be_endless(void **unused) {
    (void)unused;
    size_t length = 70000;
    char *text = malloc(length + 32);
    assert_non_null(text);
    strcpy(text, "T0|r(x)|\nT0|r(");
    size_t at = strlen(text);
    memset(text + at, 'v', length);
    strcpy(text + at + length, ")|\n");
    struct hd_trace trace;
    struct hd_error error;
    assert_false(read_text(text, &trace, &error));
    assert_non_null(strstr(error.message, "test:2: a name of 70000 bytes"));
    free(text);
}

static void wrong_kinds_of_files(void **unused) {
    (void)unused;
    struct hd_trace trace;
    struct hd_error error;
    static const char zeros[] = "T0|r(x)|1\nT0|r(\0x)|1\n";
    assert_false(hd_trace_read(zeros, sizeof zeros - 1, "test", NULL, &trace, &error));
    assert_int_equal(error.code, HD_ERR_FORMAT);
    assert_non_null(strstr(error.message, "test:2: a NUL byte"));
    assert_false(read_text("A|wait(x)|\nB|signal(x)|\nB|post(x)|\n", &trace, &error));
    assert_non_null(strstr(error.message, "test:1: wait(x): it is both signalled and posted"));
}

static void too_many_threads(void **unused) {
    (void)unused;
    size_t size = (size_t)66000 * 16;
    char *text = malloc(size);
    assert_non_null(text);
    size_t at = 0;
    for (unsigned i = 0; i < 65537; i++)
        at += (size_t)snprintf(text + at, size - at, "%u|begin\n", i);
    struct hd_trace trace;
    struct hd_error error;
    assert_false(read_text(text, &trace, &error));
    assert_int_equal(error.code, HD_ERR_LIMIT);
    assert_non_null(strstr(error.message, "test:65537: more than 65536 threads"));
    *strstr(text, "65536|begin") = '\0';
    if (!read_text(text, &trace, &error)) fail_msg("%s", error.message);
    assert_int_equal(trace.threads, 65536);
    hd_trace_free(&trace);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation),
        cmocka_unit_test(loose_spelling_is_understood),
        cmocka_unit_test(operands_have_offset_and_size),
        cmocka_unit_test(waits_find_their_signal),
        cmocka_unit_test(barrier_rounds),
        cmocka_unit_test(numbers_for_threads),
        cmocka_unit_test(frees_know_their_size),
        cmocka_unit_test(read_locks_make_read_write_locks),
        cmocka_unit_test(blocked_threads),
        cmocka_unit_test(malformed_lines_are_named),
        cmocka_unit_test(names_may_not_be_endless),
        cmocka_unit_test(wrong_kinds_of_files),
        cmocka_unit_test(too_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
