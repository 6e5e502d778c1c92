/* SPDX-License-Identifier: Apache-2.0 */

/* The content of the file: its JSON, read and written. private_file.c opens and replaces it. */

#include "token_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>
#include <sodium.h>

#include "private_file.h"

static const char hash_prefix[] = "blake2b:";

void token_file_finish(struct token_file *file) {
    free(file->entries);
    parley_arena_finish(&file->texts);
    *file = (struct token_file){0};
}

static bool fail(struct parley_buffer *error, const char *text) {
    parley_buffer_text(error, text);
    return false;
}

/* ---- values ---- */

static bool is_name(const char *text) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-@";
    const size_t length = strlen(text);
    return length >= 1 && length <= TOKEN_NAME_MAX && strspn(text, allowed) == length;
}

/* It is compared with texts of messages, and shown to people. */
static bool is_agent(const char *text) {
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
            return false;
        }
    }
    return length >= 1 && length <= TOKEN_AGENT_MAX;
}

bool token_certificate_is_name(const char *text) {
    static const char *const kinds[] = {"uri:", "dns:", "email:", "cn:"};
    const size_t length = strlen(text);
    bool has_kind = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t kind = strlen(kinds[i]);
        has_kind = has_kind || (strncmp(text, kinds[i], kind) == 0 && length > kind);
    }
    for (size_t i = 0; i < length; i++) {
        has_kind = has_kind && text[i] > ' ' && text[i] <= '~';
    }
    return has_kind && length <= TOKEN_CERTIFICATE_MAX;
}

bool token_scopes_read(const char *text, struct scopes *out, struct parley_buffer *error) {
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (!scopes_add(out, (struct parley_bytes){text, length}, error)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

void token_time_write(int64_t time, char out[TOKEN_TIME_SIZE]) {
    const time_t seconds = (time_t)time;
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(out, TOKEN_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        out[0] = '\0';
    }
}

static bool read_time(const char *text, int64_t *out) {
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (end == NULL || *end != '\0') {
        return false;
    }
    *out = (int64_t)timegm(&parts);
    return *out > 0;
}

const char *token_entry_state(const struct token_entry *entry, int64_t now) {
    return entry->revoked_at != 0                               ? "revoked"
           : entry->expires_at != 0 && now >= entry->expires_at ? "expired"
                                                                : "active";
}

/* ---- entries ---- */

struct token_entry *token_file_find(const struct token_file *file, const char *name) {
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->entries[i].name, name) == 0) {
            return &file->entries[i];
        }
    }
    return NULL;
}

static struct token_entry *append(struct token_file *file) {
    if (file->count == file->capacity) {
        const size_t capacity = file->capacity == 0 ? 16 : 2 * file->capacity;
        struct token_entry *entries = reallocarray(file->entries, capacity, sizeof *file->entries);
        if (entries == NULL) {
            return NULL;
        }
        file->entries = entries;
        file->capacity = capacity;
    }
    return &file->entries[file->count++];
}

static void remove_entry(struct token_file *file, struct token_entry *entry) {
    const size_t index = (size_t)(entry - file->entries);
    memmove(entry, entry + 1, (--file->count - index) * sizeof *entry);
}

static bool check_texts(const struct token_entry *entry, struct parley_buffer *error) {
    if (!is_name(entry->name)) {
        return fail(error, "a token's name is 1 to 64 of A-Z a-z 0-9 . _ - @");
    }
    if (entry->agent != NULL && !is_agent(entry->agent)) {
        return fail(error, "a token's agent is 1 to 128 bytes without control characters");
    }
    if (entry->certificate != NULL && !token_certificate_is_name(entry->certificate)) {
        return fail(error,
                    "the name of a certificate is 'uri:', 'dns:', 'email:' or 'cn:' and up to "
                    "250 visible ASCII characters, such as dns:agent-7.example");
    }
    return true;
}

/* Returns: false without memory. */
static bool copy_text(struct token_file *file, const char **text) {
    const bool is_wanted = *text != NULL;
    *text = is_wanted ? parley_arena_copy(&file->texts, parley_bytes_of(*text)) : NULL;
    return !is_wanted || *text != NULL;
}

bool token_file_add(struct token_file *file, const struct token_entry *entry, int64_t now,
                    struct parley_buffer *error) {
    if (!check_texts(entry, error)) {
        return false;
    }
    struct token_entry *old = token_file_find(file, entry->name);
    if (old != NULL && strcmp(token_entry_state(old, now), "active") == 0) {
        parley_buffer_format(error,
                             "there is a token named '%s' already: choose another name, or revoke "
                             "it first",
                             entry->name);
        return false;
    }
    if (old != NULL) {
        remove_entry(file, old);
    }
    struct token_entry copy = *entry;
    const bool has_texts = copy_text(file, &copy.name) && copy_text(file, &copy.agent) &&
                           copy_text(file, &copy.certificate);
    struct token_entry *place = has_texts ? append(file) : NULL;
    if (place == NULL) {
        return fail(error, parley_status_text(PARLEY_E_MEMORY));
    }
    *place = copy;
    return true;
}

/* ---- reading ---- */

/* Each reads the value of one key.  Returns: NULL, or the required form of the value. */

static const char *read_name(const json_t *value, struct token_entry *out,
                             struct parley_buffer *error) {
    (void)error;
    out->name = json_string_value(value);
    return out->name != NULL ? NULL : "a string";
}

static const char *read_hash(const json_t *value, struct token_entry *out,
                             struct parley_buffer *error) {
    const char *text = json_string_value(value);
    size_t length = 0;
    (void)error;
    const bool is_fine = text != NULL && strncmp(text, hash_prefix, sizeof hash_prefix - 1) == 0 &&
                         strlen(text) == sizeof hash_prefix - 1 + 2 * (size_t)TOKEN_HASH_BYTES &&
                         sodium_hex2bin(out->hash, sizeof out->hash, text + sizeof hash_prefix - 1,
                                        2 * (size_t)TOKEN_HASH_BYTES, NULL, &length, NULL) == 0;
    return is_fine && length == sizeof out->hash ? NULL : "'blake2b:' and 64 hex digits";
}

static const char *read_certificate(const json_t *value, struct token_entry *out,
                                    struct parley_buffer *error) {
    (void)error;
    out->certificate = json_string_value(value);
    if (out->certificate != NULL) {
        token_hash_certificate(out->certificate, out->hash);
    }
    return out->certificate != NULL ? NULL : "a string";
}

static const char *read_allow(const json_t *value, struct token_entry *out,
                              struct parley_buffer *error) {
    const char *text = json_string_value(value);
    return text != NULL && token_scopes_read(text, &out->scopes, error)
               ? NULL
               : "scopes, separated by commas";
}

static const char *read_agent(const json_t *value, struct token_entry *out,
                              struct parley_buffer *error) {
    (void)error;
    out->agent = json_string_value(value);
    return out->agent != NULL ? NULL : "a string";
}

static const char *read_rate(const json_t *value, uint64_t *out) {
    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) > 0 ? NULL
                                                                   : "a whole number above 0";
}

static const char *read_rate_messages(const json_t *value, struct token_entry *out,
                                      struct parley_buffer *error) {
    (void)error;
    return read_rate(value, &out->messages_per_s);
}

static const char *read_rate_bytes(const json_t *value, struct token_entry *out,
                                   struct parley_buffer *error) {
    (void)error;
    return read_rate(value, &out->bytes_per_s);
}

static const char *read_moment(const json_t *value, int64_t *out) {
    return json_is_string(value) && read_time(json_string_value(value), out)
               ? NULL
               : "a time such as \"2026-12-31T23:59:59Z\"";
}

static const char *read_created(const json_t *value, struct token_entry *out,
                                struct parley_buffer *error) {
    (void)error;
    return read_moment(value, &out->created_at);
}

static const char *read_expires(const json_t *value, struct token_entry *out,
                                struct parley_buffer *error) {
    (void)error;
    return read_moment(value, &out->expires_at);
}

static const char *read_revoked(const json_t *value, struct token_entry *out,
                                struct parley_buffer *error) {
    (void)error;
    return read_moment(value, &out->revoked_at);
}

static const struct key {
    const char *name;
    bool is_required;
    const char *(*read)(const json_t *value, struct token_entry *out, struct parley_buffer *error);
} keys[] = {
    {"name", true, read_name},
    {"hash", false, read_hash},
    {"certificate", false, read_certificate},
    {"allow", true, read_allow},
    {"agent", false, read_agent},
    {"rate-messages", false, read_rate_messages},
    {"rate-bytes", false, read_rate_bytes},
    {"created", false, read_created},
    {"expires", false, read_expires},
    {"revoked", false, read_revoked},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

/* An unknown key could be a misspelt limit: it is an error. */
static bool check_keys(const json_t *object, struct parley_buffer *error) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        size_t i = 0;
        while (i < KEY_COUNT && strcmp(keys[i].name, name) != 0) {
            i++;
        }
        if (i == KEY_COUNT) {
            parley_buffer_format(error, "unknown key '%.64s'", name);
            return false;
        }
    }
    return true;
}

static bool read_entry(const json_t *object, struct token_entry *out, struct parley_buffer *error) {
    if (!json_is_object(object)) {
        return fail(error, "it must be an object");
    }
    if (!check_keys(object, error)) {
        return false;
    }
    if ((json_object_get(object, "hash") == NULL) ==
        (json_object_get(object, "certificate") == NULL)) {
        return fail(error, "it must have one of 'hash' and 'certificate'");
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const json_t *value = json_object_get(object, keys[i].name);
        if (value == NULL && !keys[i].is_required) {
            continue;
        }
        const char *expected = value != NULL ? keys[i].read(value, out, error) : "there";
        if (expected != NULL) {
            parley_buffer_format(error, "%s'%s' must be %s", error->length > 0 ? "; " : "",
                                 keys[i].name, expected);
            return false;
        }
    }
    return true;
}

static bool read_entries(const json_t *root, struct token_file *out, struct parley_buffer *error) {
    const json_t *list = json_object_get(root, "tokens");
    if (json_integer_value(json_object_get(root, "version")) != 1 || !json_is_array(list)) {
        return fail(error, "expected {\"version\": 1, \"tokens\": […]}");
    }
    struct parley_buffer why;
    parley_buffer_init(&why);
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < json_array_size(list); i++) {
        struct token_entry entry = {0};
        is_fine = read_entry(json_array_get(list, i), &entry, &why) &&
                  token_file_add(out, &entry, INT64_MIN, &why);
        if (!is_fine) {
            parley_buffer_format(error, "token %zu: ", i + 1);
            parley_buffer_append(error, parley_buffer_bytes(&why));
        }
    }
    parley_buffer_finish(&why);
    return is_fine;
}

static bool parse(struct parley_bytes text, struct token_file *out, struct parley_buffer *error) {
    json_error_t fault;
    json_t *root =
        json_loadb(text.data != NULL ? text.data : "", text.length, JSON_REJECT_DUPLICATES, &fault);
    if (root == NULL) { /* its text may quote the file */
        parley_buffer_format(error, "line %d, column %d: not valid JSON", fault.line, fault.column);
        return false;
    }
    const bool is_fine = read_entries(root, out, error);
    json_decref(root);
    return is_fine;
}

/* Puts the path before the error. */
static void name_path(const char *path, size_t start, struct parley_buffer *error) {
    struct parley_buffer why;
    parley_buffer_init(&why);
    if (error->length > start) {
        parley_buffer_append(&why,
                             (struct parley_bytes){error->data + start, error->length - start});
        error->length = start;
    }
    parley_buffer_format(error, "the token file %s: ", path);
    parley_buffer_append(error, parley_buffer_bytes(&why));
    parley_buffer_finish(&why);
}

bool token_file_read(const char *path, struct token_file *out, struct parley_buffer *error) {
    struct parley_buffer text;
    const size_t start = error->length;
    parley_buffer_init(&text);
    const bool is_fine = private_file_read(path, TOKEN_FILE_BYTES_MAX, &text, error) &&
                         parse(parley_buffer_bytes(&text), out, error);
    parley_buffer_finish(&text);
    if (!is_fine) {
        name_path(path, start, error);
    }
    return is_fine;
}

/* ---- writing ---- */

static void write_text(struct parley_buffer *out, const char *key, const char *value) {
    parley_buffer_format(out, "%s\"%s\":", strcmp(key, "name") == 0 ? "" : ",", key);
    parley_buffer_json(out, parley_bytes_of(value));
}

static void write_moment(struct parley_buffer *out, const char *key, int64_t time) {
    char text[TOKEN_TIME_SIZE];
    if (time != 0) {
        token_time_write(time, text);
        write_text(out, key, text);
    }
}

static void write_hash(struct parley_buffer *out, const unsigned char hash[TOKEN_HASH_BYTES]) {
    char hex[2 * TOKEN_HASH_BYTES + 1];
    sodium_bin2hex(hex, sizeof hex, hash, TOKEN_HASH_BYTES);
    parley_buffer_format(out, ",\"hash\":\"%s%s\"", hash_prefix, hex);
}

static void write_rate(struct parley_buffer *out, const char *key, uint64_t rate) {
    if (rate != 0) {
        parley_buffer_format(out, ",\"%s\":%" PRIu64, key, rate);
    }
}

static void write_entry(struct parley_buffer *out, const struct token_entry *entry) {
    parley_buffer_char(out, '{');
    write_text(out, "name", entry->name);
    if (entry->certificate != NULL) {
        write_text(out, "certificate", entry->certificate);
    } else {
        write_hash(out, entry->hash);
    }
    parley_buffer_text(out, ",\"allow\":\"");
    scopes_write(&entry->scopes, ',', out);
    parley_buffer_char(out, '"');
    if (entry->agent != NULL) {
        write_text(out, "agent", entry->agent);
    }
    write_rate(out, "rate-messages", entry->messages_per_s);
    write_rate(out, "rate-bytes", entry->bytes_per_s);
    write_moment(out, "created", entry->created_at);
    write_moment(out, "expires", entry->expires_at);
    write_moment(out, "revoked", entry->revoked_at);
    parley_buffer_char(out, '}');
}

static void write_file(struct parley_buffer *out, const struct token_file *file) {
    parley_buffer_text(out, "{\"version\":1,\"tokens\":[");
    for (size_t i = 0; i < file->count; i++) {
        parley_buffer_text(out, i > 0 ? ",\n" : "\n");
        write_entry(out, &file->entries[i]);
    }
    parley_buffer_text(out, "\n]}\n");
}

/* ---- changing ---- */

static bool is_outdated(const struct token_entry *entry, int64_t now) {
    const int64_t end = entry->revoked_at != 0 ? entry->revoked_at : entry->expires_at;
    return end != 0 && end + TOKEN_FILE_KEPT_S < now;
}

static void forget_outdated(struct token_file *file) {
    const int64_t now = (int64_t)time(NULL);
    for (size_t i = file->count; i > 0; i--) {
        if (is_outdated(&file->entries[i - 1], now)) {
            remove_entry(file, &file->entries[i - 1]);
        }
    }
}

static bool replace(const char *path, struct token_file *file, struct parley_buffer *error) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    forget_outdated(file);
    write_file(&text, file);
    const bool is_written = parley_buffer_status(&text) == PARLEY_OK
                                ? private_file_replace(path, parley_buffer_bytes(&text), error)
                                : fail(error, parley_status_text(PARLEY_E_MEMORY));
    parley_buffer_finish(&text);
    return is_written;
}

bool token_file_change(const char *path,
                       bool (*change)(struct token_file *file, void *context,
                                      struct parley_buffer *error),
                       void *context, struct parley_buffer *error) {
    struct token_file file = {0};
    const int lock = private_file_lock(path, error);
    const bool is_changed = lock >= 0 &&
                            (!private_file_exists(path) || token_file_read(path, &file, error)) &&
                            change(&file, context, error) && replace(path, &file, error);
    private_file_unlock(lock);
    token_file_finish(&file);
    return is_changed;
}
