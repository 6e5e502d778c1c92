/* SPDX-License-Identifier: Apache-2.0 */

/* See embedded_blocks.h. A stream's blocks are STORE/jetstream/ACCOUNT/streams/STREAM/msgs/N.blk;
 * the newest has the largest N. */

#include "embedded_blocks.h"

#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct block {
    char *path;
    char *stream;
    unsigned long number;
    ino_t inode;
    off_t size;
};

struct embedded_blocks {
    struct block *items;
    size_t count;
};

/* Returns the number of a file that is a block; 0 if it is not one. */
static unsigned long block_number(const FTSENT *entry) {
    char *end;
    const unsigned long number = strtoul(entry->fts_name, &end, 10);
    const bool is_block = entry->fts_info == FTS_F && strcmp(end, ".blk") == 0 &&
                          strcmp(entry->fts_parent->fts_name, "msgs") == 0;
    return is_block ? number : 0;
}

static const char *stream_of(const FTSENT *entry) {
    return entry->fts_parent->fts_parent->fts_name;
}

/* The blocks of a stream follow one another in a walk. Returns: NULL if out of memory. */
static struct block *block_of(struct embedded_blocks *blocks, const char *stream) {
    struct block *last = blocks->count > 0 ? &blocks->items[blocks->count - 1] : NULL;
    if (last != NULL && strcmp(last->stream, stream) == 0) {
        return last;
    }
    struct block *items = reallocarray(blocks->items, blocks->count + 1, sizeof *items);
    char *name = strdup(stream);
    if (items != NULL) {
        blocks->items = items;
    }
    if (items == NULL || name == NULL) {
        free(name);
        return NULL;
    }
    items[blocks->count] = (struct block){.stream = name};
    return &items[blocks->count++];
}

/* Returns: false if out of memory. */
static bool note(struct embedded_blocks *blocks, const FTSENT *entry) {
    const unsigned long number = block_number(entry);
    if (number == 0) {
        return true;
    }
    struct block *block = block_of(blocks, stream_of(entry));
    if (block == NULL || number <= block->number) {
        return block != NULL;
    }
    free(block->path);
    block->path = strdup(entry->fts_path);
    block->number = number;
    block->inode = entry->fts_statp->st_ino;
    block->size = entry->fts_statp->st_size;
    return block->path != NULL;
}

struct embedded_blocks *embedded_blocks_note(const char *store) {
    struct embedded_blocks *blocks = calloc(1, sizeof *blocks);
    char *path = strdup(store);
    char *const paths[] = {path, NULL};
    FTS *walk = path != NULL ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    bool is_noted = blocks != NULL && walk != NULL;
    const FTSENT *entry;
    while (is_noted && (entry = fts_read(walk)) != NULL) {
        is_noted = note(blocks, entry);
    }
    if (walk != NULL) {
        fts_close(walk);
    }
    free(path);
    if (!is_noted) {
        embedded_blocks_free(blocks);
        return NULL;
    }
    return blocks;
}

void embedded_blocks_compare(const struct embedded_blocks *blocks,
                             void (*cut)(void *context, const char *stream, uint64_t bytes),
                             void *context) {
    for (size_t i = 0; i < blocks->count; i++) {
        const struct block *block = &blocks->items[i];
        struct stat now;
        if (stat(block->path, &now) == 0 && now.st_ino == block->inode &&
            now.st_size < block->size) {
            cut(context, block->stream, (uint64_t)(block->size - now.st_size));
        }
    }
}

void embedded_blocks_free(struct embedded_blocks *blocks) {
    if (blocks == NULL) {
        return;
    }
    for (size_t i = 0; i < blocks->count; i++) {
        free(blocks->items[i].path);
        free(blocks->items[i].stream);
    }
    free(blocks->items);
    free(blocks);
}
