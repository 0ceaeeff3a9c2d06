/* What coordinator and workers say to each other: a kind, and fields one after the other
 * (base/packed.h). Whoever reads checks every one of them. */
#ifndef HEDDLE_CAMPAIGN_MESSAGE_H
#define HEDDLE_CAMPAIGN_MESSAGE_H

#include "base/packed.h"
#include "campaign/pool.h"

enum message_kind {
    /* to the coordinator */
    MESSAGE_HELLO,  /* name of the machine, jobs at once */
    MESSAGE_NEED,   /* hash of a file */
    MESSAGE_RESULT, /* task, end, error, result */
    /* to a worker */
    MESSAGE_PROGRAM, /* number, job, files */
    MESSAGE_FILE,    /* hash, bytes */
    MESSAGE_JOBS,    /* now, tasks */
    MESSAGE_TELL,    /* bytes, for the kind of job (errand.h) */
    MESSAGE_STOP,
    /* both ways */
    MESSAGE_BEAT
};

struct hd_packed message_new(enum message_kind kind);
/* Gives the message away. */
void message_send(struct hd_packed *message, unsigned to);

void message_put_task(struct hd_packed *message, const struct campaign_task *task);
bool message_task(struct hd_unpack *in, struct campaign_task *task);
void message_put_result(struct hd_packed *message, const struct campaign_result *result);
bool message_result(struct hd_unpack *in, struct campaign_result *result);

/* What a rank says of a task. The result is the caller's; false: it makes no sense. */
struct message_end {
    uint32_t number;
    enum campaign_end end;
    struct hd_error error;
    struct campaign_result result;
};
void message_put_end(struct hd_packed *message, uint32_t number, enum campaign_end end,
                     const struct campaign_result *result, const struct hd_error *error);
bool message_read_end(struct hd_unpack *in, struct message_end *end);

/* A program as it is sent: its job, and the files that it needs. */
struct message_file {
    int word; /* as in struct campaign_needed */
    char hash[HD_KEY_TEXT];
    const char *name; /* without directories */
};
struct message_program {
    uint32_t number;
    const char *text;
    HD_VECTOR(struct message_file) file;
};
/* Strings point into the message. False: it makes no sense. To be freed by hd_vector_free of
 * `file`. */
bool message_program(struct hd_unpack *in, struct message_program *program);

#define MESSAGE_MOST_PROGRAMS 1000u

#endif
