/* When memory is out, the programs that run are ended and the temporary file is removed. */
#include "cli/ending.h"

#include "base/alloc.h"
#include "cli/output_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka needs those before it */
#include <cmocka.h>

/* Starts a program as heddle does, opens an output file, and runs out of memory. Whoever holds the
 * writing end of `alive` is still there. */
static void run_out(int alive) {
    hd_prepare_for_out_of_memory();
    pid_t program = fork();
    if (program == 0) {
        setpgid(0, 0);
        sleep(100);
        _exit(0);
    }
    setpgid(program, program);
    close(alive);
    struct hd_output_file file;
    struct hd_error error;
    if (!hd_output_file_open(&file, "never.hdt", &error)) _exit(4);
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    hd_out_of_memory();
}

static void programs_and_files_go(void **state) {
    (void)state;
    int alive[2], status;
    assert_int_equal(pipe(alive), 0);
    pid_t command = fork();
    assert_true(command >= 0);
    if (command == 0) {
        close(alive[0]);
        run_out(alive[1]);
    }
    close(alive[1]);
    assert_int_equal(waitpid(command, &status, 0), command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    char byte;
    assert_int_equal(read(alive[0], &byte, 1), 0); /* returns when the program is gone */
    close(alive[0]);
    assert_int_equal(system("ls never.hdt* >/dev/null 2>&1") == 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_and_files_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
