/* heddle-clang: reads translation units for heddle, one after the other, until its standard input
 * ends (protocol: src/source/worker.h). A crash of it loses the unit it was reading, and nothing
 * else. */
#include "source/clang.h"
#include "source/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Splits the words of a request; false if it is not one. */
static bool split(char *bytes, size_t length, struct hd_clang_request *request,
                  const char ***argument) {
    HD_VECTOR(const char *) words = {0};
    if (length == 0 || bytes[length - 1] != '\0') return false;
    for (char *at = bytes; at < bytes + length; at += strlen(at) + 1) hd_vector_push(&words, at);
    *argument = words.data;
    if (words.size < 4) return false;
    request->method = (unsigned)atoi(words.data[0]);
    request->directory = words.data[1];
    request->file = words.data[2];
    request->argument = words.data + 3;
    request->arguments = (unsigned)words.size - 3;
    return true;
}

static bool answer(char *bytes, size_t length) {
    struct hd_clang_request request;
    struct hd_clang_reply reply = {0};
    const char **argument = NULL;
    bool good = split(bytes, length, &request, &argument);
    if (good) {
        /* For the tests: what a crash of the parser would do. */
        const char *crash = getenv("HEDDLE_TEST_CRASH");
        if (crash != NULL && strstr(request.file, crash) != NULL) abort();
        hd_clang_read_unit(&request, &reply);
        good = hd_worker_send(STDOUT_FILENO, reply.depends.data, reply.depends.size) &&
               hd_worker_send(STDOUT_FILENO, reply.text, reply.length);
    }
    free(argument);
    free(reply.text);
    hd_vector_free(&reply.depends);
    return good;
}

int main(void) {
    for (;;) {
        char *bytes;
        size_t length;
        if (!hd_worker_receive(STDIN_FILENO, &bytes, &length)) return 0;
        bool good = answer(bytes, length);
        free(bytes);
        if (!good) return 1;
    }
}
