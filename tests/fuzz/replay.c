/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a fuzz target over files, and over the files of folders, where there is no libFuzzer. It
 * looks for nothing new. */

#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void give_up(const char *path) {
    perror(path);
    exit(2);
}

static size_t replay_file(const char *path) {
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        give_up(path);
    }
    /* No byte more than there is, so that a read behind the end is seen. */
    const size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL || fread(data, 1, size, file) != size) {
        give_up(path);
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t replay_folder(const char *path) {
    DIR *folder = opendir(path);
    size_t count = 0;
    if (folder == NULL) {
        give_up(path);
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        const int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && (size_t)length < sizeof inner) {
            count += replay_file(inner);
        }
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status) != 0) {
            give_up(argv[i]);
        }
        count += S_ISDIR(status.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
    }
    printf("%zu inputs\n", count);
    return count > 0 ? 0 : 2;
}
