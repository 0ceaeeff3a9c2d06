/* Processes that are recorded: they ask in the channel, and are drained until they end. Everything
 * that is read from shared memory may have been overwritten by the program under test, so lengths
 * and indices are checked as if they came from a file. */
#define _GNU_SOURCE
#include "run/live.h"

#include "base/alloc.h"
#include "run/server.h"
#include "trace/symbols.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* app.hdt, then app.1.hdt, app.2.hdt for further processes. */
static char *session_path(const struct hd_record_options *options, size_t index) {
    if (options->name_trace != NULL) return options->name_trace(options->context, index);
    const char *output = options->output;
    if (index == 0) return hd_strdup(output);
    const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
    if (dot == NULL || (slash != NULL && dot < slash)) dot = output + strlen(output);
    return hd_format("%.*s.%zu%s", (int)(dot - output), output, index, dot);
}

static bool is_session(const struct hd_wire_session *memory, size_t bytes) {
    return memory->magic == HD_WIRE_MAGIC && memory->version == HD_WIRE_VERSION &&
           memory->chunk_count > 0 && memory->chunk_count <= HD_MAX_CHUNKS &&
           hd_wire_session_bytes(memory->chunk_count) <= bytes;
}

static struct hd_wire_session *map_session(pid_t pid, int fd, size_t *bytes) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0) return NULL;
    off_t size = lseek(own, 0, SEEK_END);
    struct hd_wire_session *memory = MAP_FAILED;
    if (size >= (off_t)hd_wire_session_bytes(1) &&
        size <= (off_t)(hd_wire_session_bytes(HD_MAX_CHUNKS) + sizeof(struct hd_wire_check)))
        memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    close(own);
    *bytes = (size_t)size;
    if (memory == MAP_FAILED) return NULL;
    if (is_session(memory, *bytes)) return memory;
    munmap(memory, *bytes);
    return NULL;
}

static void release(struct hd_session *s) {
    munmap(s->memory, s->bytes);
    s->memory = NULL;
    free(s->written);
    hd_vector_free(&s->next_sequence);
}

static bool accept_session(struct hd_live *live, pid_t pid, int fd) {
    struct hd_record_result *result = live->result;
    if (live->failed) return false;
    struct hd_session s = {.pid = pid, .pidfd = -1};
    s.memory = map_session(pid, fd, &s.bytes);
    if (s.memory == NULL) return false;
    s.chunk_count = s.memory->chunk_count;
    const struct hd_record_options *options = live->options;
    struct hd_recorded recorded = {.pid = pid, .path = session_path(options, live->session.size)};
    if (recorded.path == NULL) {
        munmap(s.memory, s.bytes);
        return false;
    }
    char *command = options->command != NULL ? hd_strdup(options->command)
                                             : hd_quote_command(options->job->program.argv);
    struct hd_trace_about about = {
        .command = command, .pid = pid, .options = hd_steering_options(&options->job->steering)};
    about.options.process = (uint32_t)live->session.size - live->first;
    s.writer = hd_writer_open(recorded.path, &about, live->error);
    free(command);
    if (s.writer == NULL) {
        live->failed = true;
        free(recorded.path);
        munmap(s.memory, s.bytes);
        return false;
    }
    s.written = hd_zalloc(s.chunk_count, sizeof *s.written);
    if (pid != live->child) s.pidfd = hd_pidfd(pid);
    hd_vector_push(&live->session, s);
    hd_vector_push(&result->recorded, recorded);
    struct hd_session *kept = &live->session.data[live->session.size - 1];
    if (live->startup >= 0 && pid == live->child && !hd_session_startup(live, kept))
        hd_session_fail(live, kept);
    return true;
}

static bool all_done(const struct hd_live *live) {
    for (size_t i = 0; i < live->session.size; i++)
        if (live->session.data[i].memory != NULL) return false;
    return true;
}

void hd_live_answer(struct hd_live *live) {
    for (unsigned i = 0; live->channel != NULL && i < HD_CHANNEL_SLOTS; i++) {
        struct hd_wire_slot *slot = &live->channel->slot[i];
        if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != HD_SLOT_ASKED) continue;
        bool anew = live->options->again && all_done(live);
        bool wanted = live->session.size == 0 || live->options->job->steering.children || anew;
        if (anew) live->first = (uint32_t)live->session.size;
        bool yes = wanted && accept_session(live, slot->pid, slot->fd);
        if (!yes) live->result->refused++;
        if (yes) slot->process = (uint32_t)live->session.size - 1 - live->first;
        __atomic_store_n(&slot->state, yes ? HD_SLOT_YES : HD_SLOT_NO, __ATOMIC_RELEASE);
        syscall(SYS_futex, &slot->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

void hd_session_fail(struct hd_live *live, struct hd_session *s) {
    if (s->writer != NULL) hd_writer_abandon(s->writer);
    s->writer = NULL;
    live->failed = true;
    __atomic_store_n(&s->memory->parent_gone, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&s->memory->freed, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->memory->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ", at queue.c:31 in put"; nothing if the code has no debug information. */
static void add_place(const struct hd_session *s, uint32_t site, char *text, size_t size) {
    uint32_t count = hd_session_module_count(s);
    struct hd_trace_module *module = hd_alloc(count, sizeof *module);
    char(*path)[HD_MODULE_PATH] = hd_alloc(count, sizeof *path);
    for (uint32_t i = 0; i < count; i++) module[i] = hd_session_module(s, i, path[i]);
    struct hd_trace modules = {.module = module, .modules = count};
    struct hd_symbols *symbols = hd_symbols_open(&modules);
    const struct hd_frame *frame;
    uint32_t frames = hd_symbols_site(symbols, site, &frame), at = 0;
    while (at + 1 < frames && hd_frame_is_system(&frame[at])) at++;
    size_t used = strlen(text);
    if (frame[at].file != NULL)
        snprintf(text + used, size - used, ", at %s:%u in %s", frame[at].file, frame[at].line,
                 frame[at].function);
    hd_symbols_close(symbols);
    free(module);
    free(path);
}

static struct hd_trace_end how_it_ended(const struct hd_session *s, const int *wait_status) {
    const struct hd_wire_session *memory = s->memory;
    struct hd_trace_end end = {
        .whole = true, .deadlocked = memory->deadlocked != 0, .lost_events = memory->lost_events};
    if (memory->fault_signal != 0) {
        end.whole = false;
        end.runtime_fault = true;
        snprintf(end.missing, sizeof end.missing,
                 "heddle's own runtime crashed (signal %u at libheddle_rt.so+0x%llx, address "
                 "0x%llx)",
                 memory->fault_signal, (unsigned long long)memory->fault_pc,
                 (unsigned long long)memory->fault_address);
    }
    if (memory->misuse == HD_MISUSE_CLOSED) {
        end.misused = true;
        snprintf(end.misuse, sizeof end.misuse,
                 "use after close: T%u uses descriptor %u, which another thread has closed",
                 memory->misuse_thread, memory->misuse_size);
        add_place(s, memory->misuse_site, end.misuse, sizeof end.misuse);
    } else if (memory->misuse != HD_MISUSE_NONE) {
        end.misused = true;
        snprintf(end.misuse, sizeof end.misuse, "%s: T%u %s %u byte%s %s",
                 memory->misuse == HD_MISUSE_FREED ? "use after free" : "heap overrun",
                 memory->misuse_thread, memory->misuse_write ? "writes" : "reads",
                 memory->misuse_size, memory->misuse_size == 1 ? "" : "s",
                 memory->misuse == HD_MISUSE_FREED     ? "of a block that has been freed"
                 : memory->misuse == HD_MISUSE_BETWEEN ? "between two blocks"
                                                       : "beyond the end of a block");
        add_place(s, memory->misuse_site, end.misuse, sizeof end.misuse);
    }
    if (wait_status != NULL && WIFEXITED(*wait_status)) {
        end.exited = true;
        end.status = WEXITSTATUS(*wait_status);
    } else if (wait_status != NULL && WIFSIGNALED(*wait_status)) {
        end.signaled = true;
        end.status = WTERMSIG(*wait_status);
    } else if (memory->killed_by != 0 && memory->killed_by < 65) {
        end.signaled = true;
        end.status = (int)memory->killed_by;
    } else if (memory->ended) {
        end.exited = true;
        end.status = memory->exit_status;
    }
    return end;
}

/* Was what is recorded executed by name, or by what was? */
static bool is_program(const struct hd_live *live, const struct hd_session *s) {
    char path[HD_MODULE_PATH];
    if (live->host->server == NULL || hd_session_module_count(s) == 0) return false;
    hd_session_module(s, 0, path);
    return hd_is_executed_file(&live->options->job->program, path);
}

void hd_session_finish(struct hd_live *live, struct hd_session *s, const int *wait_status) {
    while (hd_session_drain(live, s, HD_DRAIN_REST)) {
    }
    struct hd_recorded *recorded = &live->result->recorded.data[s - live->session.data];
    memcpy(live->result->answer, s->memory->answer, sizeof live->result->answer);
    memcpy(recorded->answer, s->memory->answer, sizeof recorded->answer);
    hd_session_observe_end(live, s);
    live->result->child_threads |= s->memory->child_threads != 0;
    if (!s->child_stuck && hd_session_child_is_stuck(s, 0)) /* it has just begun to wait */
        hd_session_end_children(live, s);
    recorded->end = how_it_ended(s, wait_status);
    recorded->end.deadlocked |= s->child_stuck;
    recorded->end.child_stuck = s->child_stuck;
    recorded->threads = s->memory->threads_started;
    live->forked |= s->memory->forked != 0;
    hd_server_find(live, s);
    live->direct = s->pid == live->child && live->session.size == 1 && is_program(live, s);
    if (s->writer != NULL && !(hd_session_modules(live, s) && hd_session_note_children(live, s)))
        hd_session_fail(live, s);
    if (s->writer != NULL &&
        !hd_writer_finish(s->writer, &recorded->end, s->has_branches, live->error))
        live->failed = true;
    s->writer = NULL;
    if (s->pidfd >= 0) close(s->pidfd);
    release(s);
}
