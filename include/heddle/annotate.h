/* What a program can tell heddle about itself: locks and order that heddle does not see, accesses
 * that are meant to be unordered, and notes.
 *
 * In a program that `heddle cc` has not linked, every one of these does nothing: the functions
 * behind them are weak symbols that nobody defines. `heddle cc` and `heddle c++` find this header
 * without an option; it needs no other.
 *
 *     #include <heddle/annotate.h>
 *
 *     void spin_lock(struct lock *l) {
 *         while (exchange_in_assembly(&l->word, 1)) pause();
 *         HEDDLE_LOCKED(l);
 *     }
 *     void spin_unlock(struct lock *l) {
 *         HEDDLE_UNLOCKING(l);
 *         exchange_in_assembly(&l->word, 0);
 *     }
 */
#ifndef HEDDLE_ANNOTATE_H
#define HEDDLE_ANNOTATE_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HEDDLE_WEAK __attribute__((weak, visibility("default")))
void __heddle_lock(const volatile void *lock, int what) HEDDLE_WEAK;
void __heddle_order(const volatile void *object, int after) HEDDLE_WEAK;
void __heddle_ignore(int reads, int writes) HEDDLE_WEAK;
void __heddle_note(const char *text) HEDDLE_WEAK;
#define HEDDLE_CALL(function, arguments) ((void)(function != 0 ? (function arguments, 0) : 0))
#else
#define HEDDLE_CALL(function, arguments) ((void)0)
#endif

/* What __heddle_lock is told. */
enum {
    HEDDLE_LOCK_CREATED,
    HEDDLE_LOCK_DESTROYED,
    HEDDLE_LOCK_TAKEN,
    HEDDLE_LOCK_RELEASED,
    HEDDLE_LOCK_READ_TAKEN,
    HEDDLE_LOCK_READ_RELEASED,
    HEDDLE_LOCK_REFUSED
};

/* ---- locks of the program's own ----------------------------------------------------------------
 * A lock is known by an address: that of its object, the same in all calls. A thread says that it
 * holds it right after it got it, and that it will not any more right before it gives it back. */

/* The object becomes a lock, and stops being one: both are writes of its first byte, so that a use
 * before the one or after the other is found. Not needed for a lock that lives as long as the
 * program. */
#define HEDDLE_LOCK_CREATE(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_CREATED))
#define HEDDLE_LOCK_DESTROY(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_DESTROYED))

#define HEDDLE_LOCKED(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_TAKEN))
#define HEDDLE_UNLOCKING(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_RELEASED))
/* For readers of a reader-writer lock; its writers use the two above. */
#define HEDDLE_READ_LOCKED(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_READ_TAKEN))
#define HEDDLE_READ_UNLOCKING(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_READ_RELEASED))
/* An attempt that did not get the lock. */
#define HEDDLE_TRY_FAILED(lock) HEDDLE_CALL(__heddle_lock, ((lock), HEDDLE_LOCK_REFUSED))

/* ---- order
 * --------------------------------------------------------------------------------------- All that
 * a thread does before HEDDLE_HAPPENS_BEFORE comes before all that another does after its
 * HEDDLE_HAPPENS_AFTER of the same address, if that comes later in the run: for a queue in
 * assembly, a doorbell of a device, a message through the kernel. */
#define HEDDLE_HAPPENS_BEFORE(object) HEDDLE_CALL(__heddle_order, ((object), 0))
#define HEDDLE_HAPPENS_AFTER(object) HEDDLE_CALL(__heddle_order, ((object), 1))

/* ---- accesses that are meant to be so -----------------------------------------------------------
 * From begin to end this thread's plain reads, or writes, are not recorded: a counter for
 * statistics, a hint that may be stale. Pairs nest. Synchronisation is recorded all the same. */
#define HEDDLE_IGNORE_READS_BEGIN() HEDDLE_CALL(__heddle_ignore, (1, 0))
#define HEDDLE_IGNORE_READS_END() HEDDLE_CALL(__heddle_ignore, (-1, 0))
#define HEDDLE_IGNORE_WRITES_BEGIN() HEDDLE_CALL(__heddle_ignore, (0, 1))
#define HEDDLE_IGNORE_WRITES_END() HEDDLE_CALL(__heddle_ignore, (0, -1))
#define HEDDLE_IGNORE_BEGIN() HEDDLE_CALL(__heddle_ignore, (1, 1))
#define HEDDLE_IGNORE_END() HEDDLE_CALL(__heddle_ignore, (-1, -1))

/* ---- notes
 * ----------------------------------------------------------------------------------------- A text
 * in the trace, for `heddle dump` and schedules. It must be a string literal: the trace has its
 * address, and the text is read from the program's file. */
#define HEDDLE_NOTE(text) HEDDLE_CALL(__heddle_note, ("" text ""))

/* ---- for analyses of the source -----------------------------------------------------------------
 * Before a function: what it does is meant to be atomic, as seen by other threads.
 *     HEDDLE_ATOMIC int take(struct queue *q); */
#if defined(__clang__)
#define HEDDLE_ATOMIC __attribute__((annotate("heddle_atomic")))
#else
#define HEDDLE_ATOMIC
#endif

#ifdef __cplusplus
}
#endif

#endif
