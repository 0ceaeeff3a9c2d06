/* See key.h. */
#include "campaign/key.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static void write_hash(XXH128_hash_t hash, char text[HD_KEY_TEXT]) {
    snprintf(text, HD_KEY_TEXT, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void campaign_hash(const void *bytes, size_t count, uint64_t seed, char hash[HD_KEY_TEXT]) {
    write_hash(XXH3_128bits_withSeed(bytes, count, seed), hash);
}

bool campaign_hash_file(const char *path, char hash[HD_KEY_TEXT]) {
    struct stat status;
    char bytes[65536];
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        XXH3_state_t *state = XXH3_createState();
        if (state == NULL) hd_out_of_memory();
        XXH3_128bits_reset(state);
        for (off_t at = 0; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n)
            XXH3_128bits_update(state, bytes, (size_t)n);
        write_hash(XXH3_128bits_digest(state), hash);
        XXH3_freeState(state);
    }
    close(fd);
    return n == 0;
}
