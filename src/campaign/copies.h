/* Files that a worker was sent: on its own disk, each under the hash of its content, so that they
 * are sent once and found again by the next campaign and by other ranks of the machine. */
#ifndef HEDDLE_CAMPAIGN_COPIES_H
#define HEDDLE_CAMPAIGN_COPIES_H

#include <stddef.h>

/* Its path if it is there with that content; malloc'ed. NULL: it is not. */
char *campaign_copy_find(const char *hash, const char *name);
/* Makes it; NULL if that is not possible. */
char *campaign_copy_make(const char *hash, const char *name, const void *bytes, size_t count);

#endif
