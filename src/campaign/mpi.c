/* The few functions of Open MPI that are used. See mpi.h. */
#include "campaign/mpi.h"

#include "base/alloc.h"
#include "base/vector.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANY (-1)   /* MPI_ANY_SOURCE, MPI_ANY_TAG */
#define FUNNELED 1 /* MPI_THREAD_FUNNELED */
#define TAG 1      /* of all messages */
#define ABORT_STATUS 3
#define ABORT_SECONDS 3u /* for mpirun to end the job */

/* As Open MPI has them: handles are pointers. */
typedef void *handle;
struct status {
    int source, tag, error, cancelled;
    size_t bytes;
};

/* name without MPI_, result and arguments */
#define FUNCTIONS(X)                                                  \
    X(Init_thread, (int *, char ***, int, int *))                     \
    X(Finalize, (void))                                               \
    X(Abort, (handle, int))                                           \
    X(Comm_size, (handle, int *))                                     \
    X(Comm_set_errhandler, (handle, handle))                          \
    X(Iprobe, (int, int, handle, int *, struct status *))             \
    X(Get_count, (const struct status *, handle, int *))              \
    X(Recv, (void *, int, handle, int, int, handle, struct status *)) \
    X(Isend, (const void *, int, handle, int, int, handle, handle *)) \
    X(Test, (handle *, int *, struct status *))

static struct {
#define X(name, arguments) int(*name) arguments;
    FUNCTIONS(X)
#undef X
    handle world, byte, errors_return;
} mpi;

struct sending {
    handle request;
    void *bytes;
};
static HD_VECTOR(struct sending) sending;

/* ---- who we are ------------------------------------------------------------------------------ */

static unsigned number_of(const char *name, unsigned missing) {
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text == '\0') return missing;
    unsigned long number = strtoul(text, &end, 10);
    return *end == '\0' && number < INT_MAX ? (unsigned)number : missing;
}

bool hd_mpi_is_there(void) {
    unsigned ranks = number_of("OMPI_COMM_WORLD_SIZE", 0);
    if (ranks == 0 && getenv("PMIX_RANK") != NULL) ranks = number_of("SLURM_NTASKS", 0);
    return ranks > 1;
}

unsigned hd_mpi_rank(void) { return number_of("OMPI_COMM_WORLD_RANK", number_of("PMIX_RANK", 0)); }

unsigned hd_mpi_ranks_here(void) {
    unsigned here = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", number_of("SLURM_NTASKS_PER_NODE", 1));
    return here > 0 ? here : 1;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found); /* a function's address */
    return found != NULL;
}

static bool load(struct hd_error *error) {
    void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "started by mpirun, but Open MPI can't be loaded (%.300s)", dlerror());
    mpi.world = dlsym(library, "ompi_mpi_comm_world");
    mpi.byte = dlsym(library, "ompi_mpi_byte");
    mpi.errors_return = dlsym(library, "ompi_mpi_errors_return");
    bool good = mpi.world != NULL && mpi.byte != NULL && mpi.errors_return != NULL;
#define X(name, arguments) good = find(library, "MPI_" #name, &mpi.name) && good;
    FUNCTIONS(X)
#undef X
    return good || hd_fail(error, HD_ERR_UNSUPPORTED,
                           "libmpi is not Open MPI's: heddle needs Open MPI (openmpi-bin)");
}

bool hd_mpi_begin(unsigned *ranks, struct hd_error *error) {
    int size = 0, level;
    if (!load(error)) return false;
    if (mpi.Init_thread(NULL, NULL, FUNNELED, &level) != 0 ||
        mpi.Comm_set_errhandler(mpi.world, mpi.errors_return) != 0 ||
        mpi.Comm_size(mpi.world, &size) != 0 || size < 2)
        return hd_fail(error, HD_ERR_IO, "Open MPI could not be started");
    *ranks = (unsigned)size;
    return true;
}

void hd_mpi_end(void) {
    mpi.Finalize();
    for (size_t i = 0; i < sending.size; i++) free(sending.data[i].bytes);
    hd_vector_free(&sending);
}

/* Is it what started the ranks of this machine? */
static bool starts_ranks(pid_t pid) {
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun",
                                        "prte",   "orted",   "prted"};
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *in = fopen(path, "re");
    if (in == NULL) return false;
    if (fgets(name, sizeof name, in) == NULL) name[0] = '\0';
    fclose(in);
    name[strcspn(name, "\n")] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* An mpirun that waits for a machine it can't reach does not hear signals. Its process group is
 * ended if it leads it; if not, others are in it that are not ours. */
static void *end_by_force(void *unused) {
    pid_t parent = getppid();
    sleep(ABORT_SECONDS);
    if (parent > 1 && getppid() == parent && starts_ranks(parent)) {
        if (getpgid(parent) == parent) kill(-parent, SIGKILL);
        kill(parent, SIGKILL);
    }
    kill(getpid(), SIGKILL);
    return unused;
}

void hd_mpi_abort(void) {
    pthread_t thread;
    bool timed = pthread_create(&thread, NULL, end_by_force, NULL) == 0;
    if (timed && mpi.Abort != NULL) mpi.Abort(mpi.world, ABORT_STATUS);
    _exit(ABORT_STATUS);
}

/* ---- messages -------------------------------------------------------------------------------- */

void hd_mpi_send(unsigned to, void *bytes, size_t count) {
    struct sending message = {.bytes = bytes};
    if (count > INT_MAX ||
        mpi.Isend(bytes, (int)count, mpi.byte, (int)to, TAG, mpi.world, &message.request) != 0)
        hd_mpi_abort();
    hd_vector_push(&sending, message);
}

size_t hd_mpi_sending(void) {
    size_t kept = 0;
    for (size_t i = 0; i < sending.size; i++) {
        struct status status;
        int done = 0;
        if (mpi.Test(&sending.data[i].request, &done, &status) != 0) hd_mpi_abort();
        if (done)
            free(sending.data[i].bytes);
        else
            sending.data[kept++] = sending.data[i];
    }
    sending.size = kept;
    return kept;
}

void *hd_mpi_receive(unsigned *from, size_t *count) {
    struct status status;
    int there = 0, bytes = 0;
    if (mpi.Iprobe(ANY, ANY, mpi.world, &there, &status) != 0) hd_mpi_abort();
    if (!there) return NULL;
    if (mpi.Get_count(&status, mpi.byte, &bytes) != 0 || bytes < 0) hd_mpi_abort();
    void *message = hd_alloc((size_t)bytes + 1, 1);
    if (mpi.Recv(message, bytes, mpi.byte, status.source, status.tag, mpi.world, &status) != 0)
        hd_mpi_abort();
    *from = (unsigned)status.source;
    *count = (size_t)bytes;
    return message;
}
