/* SPDX-License-Identifier: Apache-2.0 */

/* markdown FILE SECONDS: cmark reads the body of the message in FILE (what stands behind its front
 * matter), with the allocator that it has by default, and frees the tree, again and again for so
 * long. It looks at nothing it has read. */

#include "corpus.h"

#include <err.h>
#include <string.h>

#include <cmark.h>

static uint64_t parse(void *context, const struct corpus *corpus) {
    (void)context;
    cmark_node *document = cmark_parse_document(corpus->data, corpus->length, CMARK_OPT_DEFAULT);
    if (document == NULL) {
        errx(1, "cmark_parse_document");
    }
    cmark_node_free(document);
    return 1;
}

static struct corpus body_of(const struct corpus *corpus) {
    static const char fence[] = "\n---\n";
    const char *end = memmem(corpus->data, corpus->length, fence, sizeof fence - 1);
    if (strncmp(corpus->data, fence + 1, sizeof fence - 2) != 0 || end == NULL) {
        errx(1, "that has no front matter");
    }
    size_t offset = (size_t)(end - corpus->data) + sizeof fence - 1;
    return (struct corpus){corpus->data + offset, corpus->length - offset};
}

int main(int argc, char **argv) {
    if (argc != 3) {
        errx(2, "usage: markdown FILE SECONDS");
    }
    struct corpus corpus = corpus_open(argv[1]);
    const struct corpus body = body_of(&corpus);
    corpus_measure(&body, argv[2], parse, NULL);
    corpus_close(&corpus);
    return 0;
}
