/* SPDX-License-Identifier: Apache-2.0 */

/* stopwatch COMMAND [ARGUMENT]…: runs a command, whose words (standard error too) go to standard
 * output, and then prints a line with its exit status, the seconds that it took, of the clock and
 * of the processor (its children together), and the most memory that one of them held, in KiB. */

#include <err.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        errx(2, "usage: stopwatch COMMAND [ARGUMENT]...");
    }
    double start = now_s();
    pid_t child = fork();
    if (child < 0) {
        err(1, "fork");
    }
    if (child == 0) {
        dup2(STDOUT_FILENO, STDERR_FILENO);
        execvp(argv[1], argv + 1);
        err(127, "%s", argv[1]);
    }
    int status = 0;
    if (waitpid(child, &status, 0) < 0) {
        err(1, "waitpid");
    }
    double seconds = now_s() - start;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    printf("\n%d %.6f %.6f %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128, seconds,
           seconds_of(used.ru_utime) + seconds_of(used.ru_stime), used.ru_maxrss);
    return 0;
}
