/* SPDX-License-Identifier: Apache-2.0 */

/* Every allocation of ours and of libyaml's fails once while Markdown is read, written and refused:
 * the answer is "out of memory" or the right one. AddressSanitizer sees to it that nothing leaks.
 *
 * libyaml, a shared library, calls its own yaml_malloc and its kin by their exported names, so that
 * those of this program take their place, and their memory is that of the heap that fails. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "brenner/markdown.h"
#include "lib/cases.h"
#include "lib/fault_heap.h"
#include "brenner/brenner.h"

void *yaml_malloc(size_t size);
void *yaml_realloc(void *memory, size_t size);
void yaml_free(void *memory);
char *yaml_strdup(const char *text);

static size_t yaml_count; /* of libyaml's allocations, to be sure that they come here */

void *yaml_malloc(size_t size) {
    yaml_count++;
    return malloc(size > 0 ? size : 1);
}

void *yaml_realloc(void *memory, size_t size) {
    yaml_count++;
    return realloc(memory, size > 0 ? size : 1);
}

void yaml_free(void *memory) {
    free(memory);
}

char *yaml_strdup(const char *text) {
    char *copy = yaml_malloc(strlen(text) + 1);
    return copy != NULL ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

/* All that comes of a message, as text. */
static enum parley_status process(struct parley_message *message, struct parley_bytes text,
                                  struct parley_buffer *out) {
    const struct parley_options options = {.stamp = true, .now = CASES_NOW, .fresh_id = CASES_ID};
    parley_buffer_clear(out);
    PARLEY_TRY(parley_message_check(message, text, &brenner_codec_markdown, &options,
                                    (struct parley_position){1, 1}));
    parley_findings_write(&message->findings, out);
    if (message->is_decoded) {
        PARLEY_TRY(markdown_write(message, out));
    }
    PARLEY_TRY(markdown_write_refusal(message, out));
    return parley_buffer_status(out);
}

static void run_without(const struct parley_schema *schema, struct parley_bytes text,
                        const struct parley_buffer *wanted, size_t first, size_t failures) {
    struct parley_message message;
    struct parley_buffer out;
    parley_message_init(&message, schema);
    parley_buffer_init(&out);
    fault_heap_arm(first, failures);
    const enum parley_status status = process(&message, text, &out);
    fault_heap_disarm();
    if (status != PARLEY_OK) {
        assert_int_equal(status, PARLEY_E_MEMORY);
        assert_true(fault_heap_has_failed());
        assert_int_equal(process(&message, text, &out), PARLEY_OK);
    }
    if (!parley_bytes_equal(parley_buffer_bytes(&out), parley_buffer_bytes(wanted))) {
        fail_msg("when allocation %zu failed: %.*s", first, (int)out.length, out.data);
    }
    parley_message_finish(&message);
    parley_buffer_finish(&out);
}

static void test_no_allocation_that_fails_makes_a_wrong_message(void **state) {
    (void)state;
    static const char *const texts[] = {
        "---\nsubject: \"INFO: x\"\nfrom: A\nto:\n- A\n- 1\n- {b: [c, \"d e\"]}\n---\nwrong\n",
        "---\nto: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]\n---\n",
        "---\na: |\n  text\n  text\nb: >-\n  text\n\n  text\n? c\n: 'it''s\n  so'\n---\nx",
        "---\n{a: {b: {c: {d: {e: {f: [[[[[[[[1]]]]]]]]}}}}}, i: \"\\u00e9\\x41\"}\n---\n",
        "---\nsubject: KICKOFF: x\n---\n",
        "---\na: 1\nb: {c: 1, c: 2}\n---\n",
        "---\na: &x y\n---\n",
        "---\na: !x y\n---\n",
        "---\na: *x\n---\n",
        "---\na: [b\n---\n",
        "---\na: \"\xFF\"\n---\n",
        "---\n%YAML 1.1\n--- \n---\n",
        "---\n%TAG ! tag:x,2000:\n--- a\n---\n",
        "---\n- a\n---\n",
        "---\nbody: x\n---\n",
        "---\na: b\n",
        "# x\nwrong\n",
        "",
    };
    struct parley_schema *schema;
    size_t failed = 0;
    assert_int_equal(parley_schema_create(parley_protocol_find(PARLEY_BYTES("brenner")), &schema),
                     PARLEY_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct parley_bytes text = parley_bytes_of(texts[i]);
        struct parley_message message;
        struct parley_buffer wanted;
        parley_message_init(&message, schema);
        parley_buffer_init(&wanted);
        fault_heap_arm(SIZE_MAX, 0);
        assert_int_equal(process(&message, text, &wanted), PARLEY_OK);
        const size_t count = fault_heap_disarm();
        parley_message_finish(&message);
        for (size_t first = 0; first < count; first++) {
            run_without(schema, text, &wanted, first, 1);
            run_without(schema, text, &wanted, first, SIZE_MAX);
        }
        failed += count;
        parley_buffer_finish(&wanted);
    }
    assert_true(failed > 300 && yaml_count > 300);
    parley_schema_destroy(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation_that_fails_makes_a_wrong_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
