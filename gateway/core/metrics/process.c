/* SPDX-License-Identifier: Apache-2.0 */

#include "process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void set(struct figures *out, enum figure figure, uint64_t value) {
    counter_set(&out->values[figure], value);
}

static uint64_t us_of(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void read_cpu(struct figures *out) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        set(out, FIGURE_PROCESS_CPU_US, us_of(usage.ru_utime) + us_of(usage.ru_stime));
    }
}

static void read_memory(struct figures *out) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t virtual_pages, resident_pages;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return;
    }
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &virtual_pages, &resident_pages) == 2) {
        set(out, FIGURE_PROCESS_VIRTUAL_BYTES, virtual_pages * page_bytes);
        set(out, FIGURE_PROCESS_RESIDENT_BYTES, resident_pages * page_bytes);
    }
    fclose(file);
}

/* Since Linux 6.2 the folder's size is their number. */
static uint64_t open_fds(void) {
    struct stat about;
    struct dirent *entry;
    uint64_t count = 0;
    if (stat("/proc/self/fd", &about) == 0 && about.st_size > 0) {
        return (uint64_t)about.st_size;
    }
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return 0;
    }
    while ((entry = readdir(folder)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count > 0 ? count - 1 : 0; /* without the folder's own */
}

void process_read_fds(struct figures *out) {
    struct rlimit limit;
    set(out, FIGURE_PROCESS_OPEN_FDS, open_fds());
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        set(out, FIGURE_PROCESS_MAX_FDS, limit.rlim_cur);
    }
}

void process_read(struct figures *out) {
    read_cpu(out);
    read_memory(out);
}

void process_note_start(struct figures *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    set(out, FIGURE_PROCESS_START_MS,
        (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}
