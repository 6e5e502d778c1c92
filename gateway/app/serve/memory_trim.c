/* SPDX-License-Identifier: Apache-2.0 */

/* After a flood of bodies that never end, the C library keeps the freed memory: the last allocation
 * holds the top of its heap, so hundreds of megabytes below it stay resident. malloc_trim returns
 * all free pages, but walks every free block with the arenas' locks held. So it is called only when
 * much is resident that is not in use. */

#include "memory_trim.h"

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LARGE_BLOCK_BYTES = 1 << 20,
    TOP_KEPT_BYTES = 1 << 20, /* the chunks of a worker that await their acknowledgement */
    WORTH_BYTES = 8 << 20,
    PAUSE_LEAST_MS = 2000,
    PAUSE_MOST_MS = 8000, /* for a load that allocates again at once */
};

/* Returns: 0 if it is not known. */
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

/* Resident and not in use. It includes code and stacks. */
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
    /* Blocks of this size go back to the kernel when they are freed. By default the C library
     * raises the threshold to the largest block that was freed, and keeps such blocks. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    /* With that, it returns the top of a thread's heap with each block of 64 KiB that is freed, but
     * for this. By default 128 KiB: most chunks of an object then fault in their pages again. */
    mallopt(M_TOP_PAD, TOP_KEPT_BYTES);
    *trim = (struct memory_trim){
        .reactor = reactor, .timer = {.fire = look}, .pause_ms = PAUSE_LEAST_MS};
    reactor_timer_set(reactor, &trim->timer, trim->pause_ms);
}

void memory_trim_stop(struct memory_trim *trim) {
    if (trim->reactor != NULL) {
        reactor_timer_clear(trim->reactor, &trim->timer);
    }
}
