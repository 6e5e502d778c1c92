/* SPDX-License-Identifier: Apache-2.0 */

#include "wrapped_deltas.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What the first line has before the block, and what the others have; and empty ones. */
static const struct {
    const char *first, *later, *empty;
} containers[] = {
    {"", "", ""},
    {"   ", "   ", ""},
    {"   ", "", ""},
    {"> ", "> ", ">"},
    {">", ">", ">"},
    {"  >  ", " >", ">  "},
    {">\t", ">\t", ">"},
    {">  ", ">\t", ">\t"},
    {"> > ", "> > ", "> >"},
    {">> ", "> > ", ">>"},
    {"> > > > ", ">>>> ", ">>>>"},
    {"- ", "  ", ""},
    {"- ", "\t", ""},
    {"-\t", "\t", "\t"},
    {"- a\n\n  ", "  ", ""},
    {"1. ", "   ", ""},
    {"12) ", "    ", " "},
    {"a\n- - + ", "      ", ""},
    {"> - ", ">   ", ">"},
    {"> - a\n>   - ", ">     ", ">"},
    {"- > ", "  > ", "  >"},
    {"- a\n\n  > 1. ", "  >    ", "  >"},
    {"> \xC3\xA9\n> ", "> ", ">"},
    {"> a\nlazy\n> ", "> ", ">"},
};

static const struct {
    const char *open, *close;
} fences[] = {
    {"```delta", "```"},
    {"~~~ delta", "~~~~"},
    {"`````delta x y", "`````"},
    {"~~~~delta `x`", "~~~~"},
};

static const char *const line_ends[] = {"\n", "\r\n", "\r"};

#define HYPOTHESIS(name)                                                                           \
    "{\"name\":\"" name "\",\n\"claim\":\"c \xC3\xA9\",\"mechanism\":\"m\",\"anchors\":[]}"
#define ADD(payload)                                                                               \
    "{\"operation\":\"ADD\",\n  \"section\":\"hypothesis_slate\",\"payload\":" payload             \
    ",\"rationale\":\"r > - x\"}"
#define EDIT                                                                                       \
    "{\"operation\":\"EDIT\",\"section\":\"research_thread\",\"payload\":{\"a\":[1,2]},"           \
    "\"rationale\":\"// r,}\"}"
#define KILL                                                                                       \
    "{\"operation\":\"KILL\",\"section\":\"hypothesis_slate\",\"target_id\":\"H2\","               \
    "\"payload\":{\"reason\":\"no\"},\"rationale\":\"r\"}"

static const struct {
    const char *wrong, *says;
} faults[] = {
    {"{\"operation\":\"EDIT\",\"section\":\"research_thread\",\n\n  \"payload\":{\"a\":[1,2, ],\n},"
     "\n\"rationale\":\"// r,}\",\n}\n",
     "[" EDIT "]"},
    {"// why\n{\"operation\":\"EDIT\", /* two\n\nlines */ \"section\":\"research_thread\",\n"
     "    \"payload\":{\"a\":[1,2]}, // x\n  \"rationale\":\"// r,}\"}\n/**/\n",
     "[" EDIT "]"},
    {"{\"operation\":\"KILL\",\"section\":\"hypothesis_slate\",\n  \"target_id\":\"H2\",\n\n"
     "  \"payload\":{\n\"kill_reason\" :\n \"no\"},\n\"rationale\":\"r\"}\n",
     "[" KILL "]"},
    {"{\"operation\":\"kill\",\n\"section\":\n  \"Hypothesis_Slate\",\"target_id\":\"H2\",\n"
     "\"payload\":{\"kill_reason\":\"no\",},\"rationale\":\"r\"}\n",
     "[" KILL "]"},
    {ADD("[\n  " HYPOTHESIS("a") "\n]") "\n", "[" ADD(HYPOTHESIS("a")) "]"},
    {ADD("[" HYPOTHESIS("a") ",\n\n  " HYPOTHESIS("b") "]") "\n\n",
     "[" ADD(HYPOTHESIS("a")) "," ADD(HYPOTHESIS("b")) "]"},
};

static void add_text(struct parley_buffer *out, const char *text, const char *line_end) {
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            parley_buffer_text(out, line_end);
        } else {
            parley_buffer_char(out, *text);
        }
    }
}

/* The lines of `text`, each behind what the container puts there. */
static void add_lines(struct parley_buffer *out, const char *text, size_t container,
                      const char *line_end) {
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        parley_buffer_text(out,
                           length > 0 ? containers[container].later : containers[container].empty);
        parley_buffer_append(out, (struct parley_bytes){text, length});
        parley_buffer_text(out, line_end);
        text += length + (text[length] == '\n');
    }
}

struct choice {
    size_t container, fence, line_end, fault;
    bool is_closed, is_markdown;
};

static void write_body(const struct choice *choice, struct parley_buffer *out) {
    const char *line_end = line_ends[choice->line_end];
    add_text(out, "# D\n\n", line_end);
    add_text(out, containers[choice->container].first, line_end);
    parley_buffer_text(out, fences[choice->fence].open);
    parley_buffer_text(out, line_end);
    add_lines(out, faults[choice->fault].wrong, choice->container, line_end);
    if (choice->is_closed) {
        add_lines(out, fences[choice->fence].close, choice->container, line_end);
        add_text(out, "\nafter\n", line_end);
    } else {
        out->length -= strlen(line_end);
    }
}

static struct parley_bytes message_of(const struct choice *choice) {
    struct parley_buffer body, text;
    parley_buffer_init(&body);
    parley_buffer_init(&text);
    write_body(choice, &body);
    if (choice->is_markdown) {
        parley_buffer_text(&text, "---\nsubject: \"DELTA[gpt]: x\"\n---\n");
        parley_buffer_append(&text, parley_buffer_bytes(&body));
    } else {
        parley_buffer_text(&text, "{\"subject\":\"DELTA[gpt]: x\",\"body_md\":");
        parley_buffer_json(&text, parley_buffer_bytes(&body));
        parley_buffer_char(&text, '}');
    }
    parley_buffer_finish(&body);
    return parley_buffer_bytes(&text);
}

static void add(struct wrapped_deltas *deltas, const struct parley_protocol *protocol,
                const struct choice *choice) {
    struct wrapped_delta *delta = &deltas->items[deltas->count++];
    *delta = (struct wrapped_delta){.says = faults[choice->fault].says};
    delta->test.name = faults[choice->fault].wrong;
    delta->test.protocol = protocol;
    delta->test.codec =
        parley_codec_find(protocol, choice->is_markdown ? PARLEY_BYTES("text/markdown")
                                                        : PARLEY_BYTES("application/json"));
    delta->test.body = message_of(choice);
}

void wrapped_deltas_make(struct wrapped_deltas *deltas) {
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("brenner"));
    const size_t count =
        COUNT(containers) * COUNT(fences) * COUNT(line_ends) * COUNT(faults) * 2 * 2;
    *deltas = (struct wrapped_deltas){.items = calloc(count, sizeof *deltas->items)};
    for (size_t i = 0; i < count && deltas->items != NULL; i++) {
        size_t rest = i;
        struct choice choice;
        choice.container = rest % COUNT(containers), rest /= COUNT(containers);
        choice.fence = rest % COUNT(fences), rest /= COUNT(fences);
        choice.line_end = rest % COUNT(line_ends), rest /= COUNT(line_ends);
        choice.fault = rest % COUNT(faults), rest /= COUNT(faults);
        choice.is_closed = rest % 2 == 0;
        choice.is_markdown = rest / 2 == 0;
        add(deltas, protocol, &choice);
    }
}

void wrapped_deltas_finish(struct wrapped_deltas *deltas) {
    for (size_t i = 0; i < deltas->count; i++) {
        free((char *)(uintptr_t)deltas->items[i].test.body.data);
    }
    free(deltas->items);
}
