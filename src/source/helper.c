/* Starting and ending helpers. See helper.h. */
#include "source/helper.h"

#include "base/alloc.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *find(void) {
    const char *given = getenv("HEDDLE_CLANG_HELPER");
    char self[PATH_MAX];
    static const char *const places[] = {"heddle-clang", "../lib/heddle/heddle-clang",
                                         "../../heddle-clang"};
    if (given != NULL && *given != '\0') return access(given, X_OK) == 0 ? hd_strdup(given) : NULL;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return NULL;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *path = hd_format("%s/%s", self, places[i]);
        if (access(path, X_OK) == 0) return path;
        free(path);
    }
    return NULL;
}

char *hd_helper_find(struct hd_error *error) {
    char *path = find();
    if (path == NULL)
        hd_fail(error, HD_ERR_UNSUPPORTED,
                "reading sources needs heddle-clang, which this heddle was built without: "
                "install libclang-14-dev and libclang-common-14-dev, then build again");
    return path;
}

bool hd_helper_start(struct hd_helper *helper, char *path, struct hd_error *error) {
    int pair[2];
    posix_spawn_file_actions_t actions;
    char *argument[] = {path, NULL};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return hd_fail(error, HD_ERR_IO, "cannot start %s: %s", path, strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO);
    int problem = posix_spawn(&helper->pid, path, &actions, NULL, argument, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    if (problem != 0) {
        close(pair[0]);
        helper->pid = 0;
        return hd_fail(error, HD_ERR_IO, "cannot start %s: %s", path, strerror(problem));
    }
    helper->fd = pair[0];
    return true;
}

int hd_helper_end(struct hd_helper *helper) {
    int status = 0;
    close(helper->fd);
    while (waitpid(helper->pid, &status, 0) < 0 && errno == EINTR) continue;
    helper->pid = 0;
    return status;
}
