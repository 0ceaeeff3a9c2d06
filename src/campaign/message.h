/* What coordinator and workers say to each other: a kind, and fields one after the other. Whoever
 * reads checks every length. */
#ifndef HEDDLE_CAMPAIGN_MESSAGE_H
#define HEDDLE_CAMPAIGN_MESSAGE_H

#include "base/vector.h"
#include "campaign/pool.h"

enum message_kind {
    /* to the coordinator */
    MESSAGE_HELLO,  /* name of the machine, runs at once */
    MESSAGE_NEED,   /* hash of a file */
    MESSAGE_RESULT, /* task, end, result, error */
    /* to a worker */
    MESSAGE_PROGRAM, /* number, job, files */
    MESSAGE_FILE,    /* hash, bytes */
    MESSAGE_JOBS,    /* now, tasks */
    MESSAGE_STOP,
    /* both ways */
    MESSAGE_BEAT
};

struct message {
    HD_VECTOR(char) bytes;
};
struct message message_new(enum message_kind kind);
void message_put_number(struct message *message, uint64_t number);
void message_put_bytes(struct message *message, const void *bytes, size_t count);
void message_put_text(struct message *message, const char *text);
/* Gives the message away. */
void message_send(struct message *message, unsigned to);

struct message_in {
    const char *at, *end;
    bool good; /* nothing was missing so far */
};
uint64_t message_number(struct message_in *in);
/* Points into the message, and is followed by a NUL; NULL if it is not there. */
const char *message_bytes(struct message_in *in, size_t *count);
const char *message_text(struct message_in *in); /* "" if it is not there */

void message_put_task(struct message *message, const struct campaign_task *task);
bool message_task(struct message_in *in, struct campaign_task *task);
void message_put_result(struct message *message, const struct campaign_result *result);
bool message_result(struct message_in *in, struct campaign_result *result);

#endif
