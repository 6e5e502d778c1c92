/* SPDX-License-Identifier: Apache-2.0 */

/* cut_power FOLDER: the file system of FOLDER stops at once, as when the machine loses its power.
 * What it has not written, its journal included, never gets to its disk, and every later call
 * fails. File systems have this for such tests (ext4, XFS). */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define SHUTDOWN _IOR('X', 125, uint32_t) /* EXT4_IOC_SHUTDOWN, which old headers do not have */

int main(int argc, char **argv) {
    uint32_t without_the_log = 2;
    const int folder = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0 || ioctl(folder, SHUTDOWN, &without_the_log) != 0) {
        fprintf(stderr, "cut_power: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
