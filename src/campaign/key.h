/* 128 bits of hash as hexadecimal digits: contents and jobs are known by them. */
#ifndef HEDDLE_CAMPAIGN_KEY_H
#define HEDDLE_CAMPAIGN_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_KEY_TEXT 33u

void campaign_hash(const void *bytes, size_t count, uint64_t seed, char hash[HD_KEY_TEXT]);
/* Of a file's content; false if it is no file that can be read. */
bool campaign_hash_file(const char *path, char hash[HD_KEY_TEXT]);

#endif
