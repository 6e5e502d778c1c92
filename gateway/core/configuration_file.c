/* SPDX-License-Identifier: Apache-2.0 */

/* One mapping of words to texts, lists of texts or, where they are taken, mappings of these. Values
 * stay as they are written, and the reader of each option interprets them: YAML's own rules, by
 * which `no` is a boolean and 1:30 a number, play no part. YAML's means by which one place depends
 * on another (anchors, aliases, tags, several documents) are refused. JSON is read as well, since
 * it is YAML, except for a character that is escaped as a pair of surrogates. */

#include "configuration_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yaml.h>

struct reader {
    const struct configuration_visitor *visitor;
    yaml_parser_t parser;
    struct parley_buffer key, value;
    bool is_in_section;
    bool has_ended; /* nothing more can be read */
    bool is_out_of_memory;
};

static void fault(struct reader *reader, yaml_mark_t mark, const char *text) {
    reader->visitor->fault(reader->visitor->context, mark.line + 1, text);
}

/* ---- events ---- */

static void fault_of_parser(struct reader *reader) {
    const yaml_parser_t *parser = &reader->parser;
    const bool is_reader = parser->error == YAML_READER_ERROR; /* it has no mark */
    char text[400];
    reader->is_out_of_memory = parser->error == YAML_MEMORY_ERROR;
    if (!reader->is_out_of_memory) {
        snprintf(text, sizeof text, "not valid YAML: %s%s",
                 parser->problem != NULL ? parser->problem : "syntax error",
                 is_reader ? ""
                           : " (a text that begins with one of [ ] { } & * ! | > % @ ` or has "
                             "\": \" or \" #\" in it needs quotes)");
        fault(reader, is_reader ? parser->mark : parser->problem_mark, text);
    }
}

/* Returns: false: nothing more can be read; otherwise delete *out. */
static bool next(struct reader *reader, yaml_event_t *out) {
    if (reader->has_ended) {
        return false;
    }
    if (yaml_parser_parse(&reader->parser, out) == 0) {
        fault_of_parser(reader);
        reader->has_ended = true;
        return false;
    }
    return true;
}

static bool is_refused(const yaml_event_t *event) {
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return true;
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor != NULL || event->data.sequence_start.tag != NULL;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor != NULL || event->data.mapping_start.tag != NULL;
    default:
        return false;
    }
}

static bool begins_collection(const yaml_event_t *event) {
    return event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
}

static bool ends_collection(const yaml_event_t *event) {
    return event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
}

/* The rest of a collection whose beginning was read. */
static void skip_collection(struct reader *reader) {
    yaml_event_t event;
    for (size_t depth = 1; depth > 0 && next(reader, &event); yaml_event_delete(&event)) {
        depth += begins_collection(&event);
        depth -= ends_collection(&event);
    }
}

/* ---- values ---- */

/* `key:`, `key: ~` and `key: null` are as if the key were not there. */
static bool is_null(const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static bool append(struct reader *reader, struct parley_buffer *out, const yaml_event_t *event) {
    const struct parley_bytes text = {(const char *)event->data.scalar.value,
                                      event->data.scalar.length};
    if (configuration_has_control(text)) {
        fault(reader, event->start_mark,
              "a value cannot contain line breaks or control characters");
        return false;
    }
    parley_buffer_append(out, text);
    return true;
}

bool configuration_has_control(struct parley_bytes value) {
    for (size_t i = 0; i < value.length; i++) {
        const unsigned char c = (unsigned char)value.data[i];
        if (c < 0x20 || c == 0x7F) {
            return true;
        }
    }
    return false;
}

/* One item of a list, or what ends it.  Returns: whether it is an item that can be used. */
static bool read_item(struct reader *reader, const yaml_event_t *event, bool is_first) {
    if (is_refused(event)) {
        fault(reader, event->start_mark,
              "anchors, aliases and tags are not supported (a text that begins with & * or ! needs "
              "quotes)");
        if (begins_collection(event)) {
            skip_collection(reader);
        }
        return false;
    }
    if (begins_collection(event)) {
        fault(reader, event->start_mark, "the items of a list must be texts");
        skip_collection(reader);
        return false;
    }
    parley_buffer_text(&reader->value, is_first ? "" : ",");
    return append(reader, &reader->value, event);
}

static bool read_list(struct reader *reader) {
    bool is_usable = true;
    yaml_event_t event;
    for (size_t count = 0; next(reader, &event); count++) {
        const bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        is_usable = (is_end || read_item(reader, &event, count == 0)) && is_usable;
        yaml_event_delete(&event);
        if (is_end) {
            return is_usable;
        }
    }
    return false;
}

/* Returns: whether the value, in reader->value, can be used. */
static bool read_value(struct reader *reader, const yaml_event_t *event) {
    if (event->type == YAML_SEQUENCE_START_EVENT && !is_refused(event)) {
        return read_list(reader);
    }
    if (event->type == YAML_MAPPING_START_EVENT && !is_refused(event)) {
        fault(reader, event->start_mark, "a value must be a text or a list of texts");
        skip_collection(reader);
        return false;
    }
    return read_item(reader, event, true);
}

static void report(struct reader *reader, size_t line, bool is_null, bool is_list) {
    parley_buffer_char(&reader->value, '\0');
    if (reader->key.has_failed || reader->value.has_failed) {
        reader->is_out_of_memory = reader->has_ended = true;
        return;
    }
    const struct configuration_entry entry = {.key = reader->key.data,
                                              .line = line,
                                              .value = is_null ? NULL : reader->value.data,
                                              .is_list = is_list};
    reader->visitor->entry(reader->visitor->context, &entry);
}

static void read_mapping(struct reader *reader);

/* Whether the value is a section, which is read then. */
static bool read_section(struct reader *reader, const yaml_event_t *value, size_t line) {
    const struct configuration_visitor *visitor = reader->visitor;
    if (visitor->section == NULL || reader->is_in_section || is_refused(value) ||
        value->type != YAML_MAPPING_START_EVENT || reader->key.has_failed) {
        return false;
    }
    visitor->section(visitor->context, reader->key.data, line);
    reader->is_in_section = true;
    read_mapping(reader);
    reader->is_in_section = false;
    visitor->section(visitor->context, NULL, line);
    return true;
}

static void read_entry(struct reader *reader, const yaml_event_t *key) {
    const size_t line = key->start_mark.line + 1;
    yaml_event_t value;
    parley_buffer_clear(&reader->key);
    parley_buffer_clear(&reader->value);
    bool is_usable = false;
    if (key->type == YAML_SCALAR_EVENT && !is_refused(key)) {
        is_usable = append(reader, &reader->key, key);
        parley_buffer_char(&reader->key, '\0');
    } else {
        fault(reader, key->start_mark, "a key must be the name of an option");
        if (begins_collection(key)) {
            skip_collection(reader);
        }
    }
    if (next(reader, &value)) {
        const bool is_empty = value.type == YAML_SCALAR_EVENT && is_null(&value);
        const bool is_list = value.type == YAML_SEQUENCE_START_EVENT;
        if (!(is_usable && read_section(reader, &value, line)) && read_value(reader, &value) &&
            is_usable) {
            report(reader, line, is_empty, is_list);
        }
        yaml_event_delete(&value);
    }
}

/* ---- documents ---- */

static void read_mapping(struct reader *reader) {
    yaml_event_t event;
    while (next(reader, &event)) {
        const bool is_end = event.type == YAML_MAPPING_END_EVENT;
        if (!is_end) {
            read_entry(reader, &event);
        }
        yaml_event_delete(&event);
        if (is_end) {
            return;
        }
    }
}

/* Reads an event of a document.  Returns: whether to read on. */
static void read_root(struct reader *reader, const yaml_event_t *event) {
    if (event->type == YAML_MAPPING_START_EVENT && !is_refused(event)) {
        read_mapping(reader);
    } else if (event->type != YAML_SCALAR_EVENT || !is_null(event)) {
        fault(reader, event->start_mark,
              "a configuration file must have a line KEY: VALUE for each option");
        reader->has_ended = true;
    }
}

static void read_stream(struct reader *reader) {
    yaml_event_t event;
    size_t documents = 0;
    bool is_end = false;
    while (!is_end && next(reader, &event)) {
        is_end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && documents++ > 0) {
            fault(reader, event.start_mark, "a second document (---) is not supported");
            reader->has_ended = true;
        } else if (begins_collection(&event) || event.type == YAML_SCALAR_EVENT ||
                   event.type == YAML_ALIAS_EVENT) {
            read_root(reader, &event);
        }
        yaml_event_delete(&event);
    }
}

/* ---- files ---- */

static bool is_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* Returns: NULL, and *wrong says why. */
static FILE *open_file(const char *path, bool is_again, const char **wrong) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_again ? O_NONBLOCK : 0));
    FILE *file = NULL;
    if (fd >= 0 && is_again && !is_regular(fd)) {
        *wrong = "it is not a regular file, and only such a file can be read again";
    } else {
        file = fd >= 0 ? fdopen(fd, "r") : NULL;
        *wrong = file == NULL ? strerror(errno) : NULL;
    }
    if (file == NULL && fd >= 0) {
        close(fd);
    }
    return file;
}

const char *configuration_file_contents(const char *path, bool is_again, size_t bytes_max,
                                        struct parley_buffer *out) {
    char piece[4096];
    size_t count;
    const char *wrong;
    FILE *file = open_file(path, is_again, &wrong);
    if (file == NULL) {
        return wrong;
    }
    while (out->length <= bytes_max && (count = fread(piece, 1, sizeof piece, file)) > 0) {
        parley_buffer_append(out, (struct parley_bytes){piece, count});
    }
    wrong = ferror(file) ? strerror(errno) : NULL;
    fclose(file);
    return wrong != NULL ? wrong : out->length > bytes_max ? "it is too large" : NULL;
}

bool configuration_text_read(struct parley_bytes text,
                             const struct configuration_visitor *visitor) {
    struct reader reader = {.visitor = visitor};
    if (text.length == 0) { /* libyaml takes no NULL */
        return true;
    }
    if (yaml_parser_initialize(&reader.parser) == 0) {
        return false;
    }
    parley_buffer_init(&reader.key);
    parley_buffer_init(&reader.value);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.data, text.length);
    read_stream(&reader);
    yaml_parser_delete(&reader.parser);
    parley_buffer_finish(&reader.key);
    parley_buffer_finish(&reader.value);
    return !reader.is_out_of_memory;
}

bool configuration_file_read(const char *path, bool is_again,
                             const struct configuration_visitor *visitor) {
    struct parley_buffer text;
    char wrong[200];
    parley_buffer_init(&text);
    const char *why =
        configuration_file_contents(path, is_again, CONFIGURATION_FILE_BYTES_MAX, &text);
    bool has_memory = !text.has_failed;
    if (why != NULL) {
        snprintf(wrong, sizeof wrong, "cannot be read: %s", why);
        visitor->fault(visitor->context, 0, wrong);
    } else if (has_memory) {
        has_memory = configuration_text_read(parley_buffer_bytes(&text), visitor);
    }
    parley_buffer_finish(&text);
    return has_memory;
}
