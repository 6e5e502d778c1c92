/* SPDX-License-Identifier: Apache-2.0 */

/* After a flood of bodies that never end, the C library keeps what it freed: whatever was allocated
 * last holds the top of its heap, so that the hundreds of megabytes below stay resident, for ever.
 * malloc_trim gives all free pages back, but walks everything that is free, holding each arena's
 * lock. So it is called only when it is worth it: when much is resident that nobody uses. */

#include "memory_trim.h"

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LARGE_BLOCK_BYTES = 1 << 20,
    WORTH_BYTES = 8 << 20,
    PAUSE_LEAST_MS = 2000,
    PAUSE_MOST_MS = 8000, /* of a load that takes again at once what was given back */
};

/* Returns: 0 when it cannot be found out. */
static size_t resident_bytes(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%*u %zu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Resident, and not in use.  Code and stacks are among it, and what was never written to is not. */
static size_t idle_bytes(size_t resident) {
    const struct mallinfo2 info = mallinfo2();
    const size_t used = info.uordblks + info.hblkhd;
    return resident > used ? resident - used : 0;
}

static bool is_worth_it(const struct memory_trim *trim) {
    const size_t wanted = trim->kept_bytes + WORTH_BYTES;
    const size_t resident = resident_bytes();
    return resident > wanted && idle_bytes(resident) > wanted;
}

static void look(struct reactor_timer *timer) {
    struct memory_trim *trim = OWNER_OF(timer, struct memory_trim, timer);
    trim->pause_ms /= 2;
    if (is_worth_it(trim)) {
        malloc_trim(0);
        trim->kept_bytes = idle_bytes(resident_bytes());
        trim->pause_ms *= 4;
    }
    trim->pause_ms = trim->pause_ms < PAUSE_LEAST_MS  ? PAUSE_LEAST_MS
                     : trim->pause_ms > PAUSE_MOST_MS ? PAUSE_MOST_MS
                                                      : trim->pause_ms;
    reactor_timer_set(trim->reactor, timer, trim->pause_ms);
}

void memory_trim_start(struct memory_trim *trim, struct reactor *reactor) {
    /* Blocks of that size are the kernel's again once they are freed. By itself the C library
     * raises the bound with the largest block that it has seen freed, and from then on keeps such
     * blocks. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    *trim = (struct memory_trim){
        .reactor = reactor, .timer = {.fire = look}, .pause_ms = PAUSE_LEAST_MS};
    reactor_timer_set(reactor, &trim->timer, trim->pause_ms);
}

void memory_trim_stop(struct memory_trim *trim) {
    if (trim->reactor != NULL) {
        reactor_timer_clear(trim->reactor, &trim->timer);
    }
}
