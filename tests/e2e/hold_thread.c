/* SPDX-License-Identifier: Apache-2.0 */

/* hold_thread TID: stops one thread of another process, as a defect that makes it wait would, and
 * lets it go again at the end of standard input. SIGSTOP cannot: it stops the whole process. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
    const pid_t thread = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
    if (thread <= 0 || ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 ||
        ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 ||
        waitpid(thread, NULL, __WALL) != thread) {
        fprintf(stderr, "hold_thread: %s\n", strerror(errno));
        return 1;
    }
    puts("held");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    return 0;
}
