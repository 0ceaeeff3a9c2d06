/* Processes that start others, in every way. The parent writes `parent_wrote`, each child
 * `child_wrote`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int parent_wrote, child_wrote;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static volatile long busy;

static int status_of(pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void *add(void *unused) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        child_wrote++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static int child_with_threads(void) {
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return child_wrote == 200 ? 21 : 22;
}

static void *work(void *unused) {
    while (!stop) {
        pthread_mutex_lock(&lock);
        busy++;
        pthread_mutex_unlock(&lock);
        free(malloc(100));
        usleep(20);
    }
    return unused;
}

static void fork_once(void) {
    pid_t child = fork();
    if (child == 0) exit(child_with_threads());
    parent_wrote = 1;
    printf("child %d\n", status_of(child));
}

/* Threads hold locks and allocate while the process is copied. */
static void fork_busy(void) {
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 10; i++) {
        while (busy < 20 * (i + 1)) usleep(200);
        pid_t child = fork();
        if (child == 0) {
            child_wrote = i;
            free(malloc(1000));
            _exit(child_wrote == i ? 30 + i : 1);
        }
        parent_wrote = i;
        if (status_of(child) != 30 + i) exit(5);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    puts("forked");
}

static void fork_tree(void) {
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            child_wrote = 2;
            _exit(41);
        }
        child_wrote = 1;
        exit(status_of(grandchild) == 41 ? 42 : 1);
    }
    parent_wrote = 1;
    printf("child %d\n", status_of(child));
}

static void use_vfork(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 43", (char *)NULL);
        _exit(1);
    }
    parent_wrote = 1;
    printf("child %d\n", status_of(child));
}

static void use_spawn(const char *self) {
    char *words[] = {"sh", "-c", "exit 44", NULL}, *again[] = {(char *)self, "only", NULL};
    pid_t child;
    if (posix_spawnp(&child, "sh", NULL, NULL, words, environ) != 0) exit(4);
    printf("child %d\n", status_of(child));
    if (posix_spawn(&child, self, NULL, NULL, again, environ) != 0) exit(4);
    printf("child %d\n", status_of(child));
    parent_wrote = 1;
}

static void use_system(void) {
    printf("system %d\n", WEXITSTATUS(system("exit 45")));
    FILE *pipe = popen("echo from the child", "r");
    char line[64] = "";
    if (pipe == NULL || fgets(line, sizeof line, pipe) == NULL) exit(4);
    printf("%s%d\n", line, WEXITSTATUS(pclose(pipe)));
    parent_wrote = 1;
}

/* The parent ends at once; the child goes on in the background for a moment. */
static void use_daemon(const char *file) {
    parent_wrote = 1;
    fflush(stdout);
    if (daemon(1, 1) != 0) exit(4);
    for (int i = 0; i < 50; i++) child_wrote++;
    usleep(200000);
    child_wrote = child_wrote * 2;
    FILE *out = fopen(file, "w");
    if (out == NULL) exit(5);
    fprintf(out, "%d\n", child_wrote);
    fclose(out);
    exit(46);
}

static void exec_self(const char *self) {
    parent_wrote = 1;
    execl(self, self, "only", (char *)NULL);
}

static void fork_and_exec_self(const char *self) {
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "only", (char *)NULL);
        _exit(1);
    }
    parent_wrote = 1;
    printf("child %d\n", status_of(child));
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "only") == 0) {
        child_wrote = 1;
        return 47;
    }
    if (strcmp(how, "killed") == 0) {
        child_wrote = 1;
        raise(SIGKILL);
    }
    if (strcmp(how, "fork") == 0) fork_once();
    if (strcmp(how, "busy") == 0) fork_busy();
    if (strcmp(how, "tree") == 0) fork_tree();
    if (strcmp(how, "vfork") == 0) use_vfork();
    if (strcmp(how, "spawn") == 0) use_spawn(argv[0]);
    if (strcmp(how, "system") == 0) use_system();
    if (strcmp(how, "daemon") == 0) use_daemon(argv[2]);
    if (strcmp(how, "exec") == 0) exec_self(argv[0]);
    if (strcmp(how, "fork-exec") == 0) fork_and_exec_self(argv[0]);
    return 6;
}
