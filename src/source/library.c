/* Tables of library functions: see library.h. */
#include "source/library.h"

#include <stdlib.h>
#include <string.h>

struct effects {
    const char *name, *arguments;
};

/* Sorted by name. */
static const struct effects effects[] = {
    {"asprintf", "wr-"},     {"atof", "r"},          {"atoi", "r"},          {"atol", "r"},
    {"atoll", "r"},          {"bcmp", "rr-"},        {"bcopy", "rw-"},       {"bzero", "w-"},
    {"clock_gettime", "-w"}, {"fgets", "w-b"},       {"fprintf", "br-"},     {"fputs", "rb"},
    {"fread", "w--b"},       {"fscanf", "brw"},      {"fstat", "-w"},        {"fwrite", "r--b"},
    {"getline", "bbb"},      {"gettimeofday", "w-"}, {"gmtime_r", "rw"},     {"localtime_r", "rw"},
    {"lstat", "rw"},         {"memchr", "r--"},      {"memcmp", "rr-"},      {"memcpy", "wr-"},
    {"memmem", "r-r-"},      {"memmove", "wr-"},     {"mempcpy", "wr-"},     {"memset", "w--"},
    {"pipe", "w"},           {"pread", "-w--"},      {"pwrite", "-r--"},     {"read", "-w-"},
    {"readv", "-r-"},        {"recv", "-w--"},       {"recvfrom", "-w--wb"}, {"send", "-r--"},
    {"sendto", "-r--r-"},    {"snprintf", "w-r-"},   {"sprintf", "wr-"},     {"sscanf", "rrw"},
    {"stat", "rw"},          {"stpcpy", "wr"},       {"strcasecmp", "rr"},   {"strcat", "br"},
    {"strchr", "r-"},        {"strcmp", "rr"},       {"strcpy", "wr"},       {"strdup", "r"},
    {"strftime", "w-rr"},    {"strlcat", "br-"},     {"strlcpy", "wr-"},     {"strlen", "r"},
    {"strncasecmp", "rr-"},  {"strncat", "br-"},     {"strncmp", "rr-"},     {"strncpy", "wr-"},
    {"strndup", "r-"},       {"strnlen", "r-"},      {"strrchr", "r-"},      {"strstr", "rr"},
    {"strtok_r", "brb"},     {"strtol", "rw-"},      {"strtoll", "rw-"},     {"strtoul", "rw-"},
    {"strtoull", "rw-"},     {"time", "w"},          {"vasprintf", "wr-"},   {"vsnprintf", "w-r-"},
    {"vsprintf", "wr-"},     {"write", "-r-"},       {"writev", "-r-"}};

static const char *const no_return[] = {"_Exit",
                                        "__assert_fail",
                                        "__builtin_trap",
                                        "__builtin_unreachable",
                                        "_exit",
                                        "abort",
                                        "err",
                                        "errx",
                                        "exit",
                                        "longjmp",
                                        "pthread_exit",
                                        "quick_exit",
                                        "siglongjmp",
                                        "thrd_exit",
                                        "verr",
                                        "verrx"};

#define LOCK(name, shared) \
    { name, HD_OPERATION_LOCK, 0, 0, shared }
#define TRY(name, shared) \
    { name, HD_OPERATION_TRY_LOCK, 0, 0, shared }
#define UNLOCK(name) \
    { name, HD_OPERATION_UNLOCK, 0, 0, false }

static const struct hd_library_operation operations[] = {
    LOCK("pthread_mutex_lock", false),
    TRY("pthread_mutex_trylock", false),
    TRY("pthread_mutex_timedlock", false),
    TRY("pthread_mutex_clocklock", false),
    UNLOCK("pthread_mutex_unlock"),
    LOCK("pthread_rwlock_rdlock", true),
    LOCK("pthread_rwlock_wrlock", false),
    TRY("pthread_rwlock_tryrdlock", true),
    TRY("pthread_rwlock_trywrlock", false),
    TRY("pthread_rwlock_timedrdlock", true),
    TRY("pthread_rwlock_timedwrlock", false),
    UNLOCK("pthread_rwlock_unlock"),
    LOCK("pthread_spin_lock", false),
    TRY("pthread_spin_trylock", false),
    UNLOCK("pthread_spin_unlock"),
    LOCK("mtx_lock", false),
    TRY("mtx_trylock", false),
    TRY("mtx_timedlock", false),
    UNLOCK("mtx_unlock"),
    LOCK("flockfile", false),
    UNLOCK("funlockfile"),
    {"pthread_cond_wait", HD_OPERATION_WAIT, 1, 0, false},
    {"pthread_cond_timedwait", HD_OPERATION_WAIT, 1, 0, false},
    {"pthread_cond_clockwait", HD_OPERATION_WAIT, 1, 0, false},
    {"cnd_wait", HD_OPERATION_WAIT, 1, 0, false},
    {"cnd_timedwait", HD_OPERATION_WAIT, 1, 0, false},
    {"pthread_create", HD_OPERATION_CREATE, 2, 3, false},
    {"thrd_create", HD_OPERATION_CREATE, 1, 2, false},
    {"pthread_join", HD_OPERATION_JOIN, 0, 0, false},
    {"pthread_timedjoin_np", HD_OPERATION_JOIN, 0, 0, false},
    {"pthread_tryjoin_np", HD_OPERATION_JOIN, 0, 0, false},
    {"thrd_join", HD_OPERATION_JOIN, 0, 0, false}};

static int by_name(const void *key, const void *entry) {
    return strcmp(key, ((const struct effects *)entry)->name);
}

/* `__builtin___memcpy_chk` and `__memcpy_chk` are `memcpy`. */
static const char *plain_name(const char *name, char *buffer, size_t size) {
    size_t length = strlen(name);
    if (strncmp(name, "__builtin_", 10) == 0) name += 10, length -= 10;
    if (length > 6 && strncmp(name, "__", 2) == 0 && strcmp(name + length - 4, "_chk") == 0) {
        name += 2;
        length -= 6;
    } else if (length <= 2 || strncmp(name, "__isoc", 6) != 0)
        return name;
    else { /* __isoc99_sscanf */
        const char *rest = strchr(name + 6, '_');
        return rest != NULL ? rest + 1 : name;
    }
    if (length >= size) return name;
    memcpy(buffer, name, length);
    buffer[length] = '\0';
    return buffer;
}

const char *hd_library_effects(const char *name) {
    char buffer[64];
    const struct effects *found =
        bsearch(plain_name(name, buffer, sizeof buffer), effects,
                sizeof effects / sizeof effects[0], sizeof effects[0], by_name);
    return found != NULL ? found->arguments : NULL;
}

bool hd_library_no_return(const char *name) {
    for (size_t i = 0; i < sizeof no_return / sizeof no_return[0]; i++)
        if (strcmp(no_return[i], name) == 0) return true;
    return false;
}

const struct hd_library_operation *hd_library_operation(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].name, name) == 0) return &operations[i];
    return NULL;
}
