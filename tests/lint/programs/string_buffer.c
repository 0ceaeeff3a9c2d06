/* Appending one string buffer to another (Flanagan and Freund 2004; Java's StringBuffer): the
 * length of the source is asked in one critical section, and as many characters are copied in
 * another. The source may have become shorter. Repaired by one section around both. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 64 };

struct string_buffer {
    pthread_mutex_t lock;
    char text[ROOM];
    int length;
    int out_of_range; /* requests for characters that there are not */
};

static struct string_buffer source = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .text = "heddle", .length = 6};
static char target[ROOM];
static int target_length;

static void copy(struct string_buffer *b, int end, char *to) {
    if (end > b->length) {
        b->out_of_range++;
        end = b->length;
    }
    memcpy(to, b->text, (size_t)end);
}

#ifdef FIXED
static void append(struct string_buffer *from) {
    pthread_mutex_lock(&from->lock);
    int length = from->length;
    copy(from, length, target + target_length);
    pthread_mutex_unlock(&from->lock);
    target_length += length;
}
#else
static int buffer_length(struct string_buffer *b) {
    pthread_mutex_lock(&b->lock);
    int length = b->length;
    pthread_mutex_unlock(&b->lock);
    return length;
}

static void get_chars(struct string_buffer *b, int end, char *to) {
    pthread_mutex_lock(&b->lock);
    copy(b, end, to);
    pthread_mutex_unlock(&b->lock);
}

static void append(struct string_buffer *from) {
    int length = buffer_length(from);
    get_chars(from, length,
              target + target_length); /* violation: stale-value buffer_length get_chars */
    target_length += length;
}
#endif

static void set_length(struct string_buffer *b, int length) {
    pthread_mutex_lock(&b->lock);
    b->length = length;
    pthread_mutex_unlock(&b->lock);
}

static void *append_all(void *unused) {
    (void)unused;
    append(&source);
    return NULL;
}

static void *cut(void *unused) {
    (void)unused;
    usleep(5000);
    set_length(&source, 0);
    return NULL;
}

int main(void) {
    pthread_t appender, cutter;
    pthread_create(&appender, NULL, append_all, NULL);
    pthread_create(&cutter, NULL, cut, NULL);
    pthread_join(appender, NULL);
    pthread_join(cutter, NULL);
    printf("appended, %d out of range\n", source.out_of_range);
    return source.out_of_range;
}
