/* SPDX-License-Identifier: Apache-2.0 */

/* See webhook_file.h. The reader of the configuration file reads the YAML; errors never repeat a
 * secret or a URL, which may have one in it. */

#include "webhook_file.h"

#include <string.h>
#include <strings.h>

#include <curl/curl.h>
#include <sodium.h>

#include "configuration_file.h"
#include "private_file.h"
#include "quantity.h"

struct reading {
    struct webhook_file *file;
    const char *path;
    struct parley_buffer *error;
    struct webhook *webhook; /* whose section it is; NULL: outside of all, or it is left out */
    bool is_in_section;
    size_t line; /* where the section began */
};

/* Puts the place before an error, which the caller appends. */
static struct parley_buffer *fault(const struct reading *reading, size_t line) {
    parley_buffer_format(reading->error, "%s%s:%zu: ", reading->error->length > 0 ? "; " : "",
                         reading->path, line);
    return reading->error;
}

static const char *copy(struct reading *reading, const char *text) {
    return parley_arena_copy(&reading->file->texts, parley_bytes_of(text));
}

/* ---- values: each reads one.  Returns: NULL, or what it must be ---- */

static const char out_of_memory[] = "kept: out of memory";

/* The scheme is judged at the end of the section: `private` may follow. */
static const char *read_url(struct reading *reading, const char *value) {
    CURLU *url = curl_url();
    char *user = NULL;
    const bool is_url = url != NULL && curl_url_set(url, CURLUPART_URL, value, 0) == CURLUE_OK;
    const bool has_user = is_url && curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_OK;
    curl_free(user);
    curl_url_cleanup(url);
    if (!is_url || has_user) {
        return "a URL such as https://hooks.example/parley, without user and password";
    }
    reading->webhook->url = copy(reading, value);
    return reading->webhook->url != NULL ? NULL : out_of_memory;
}

static bool read_secret(const char *text, size_t length, struct webhook_secret *out) {
    static const char prefix[] = "whsec_";
    const size_t start = sizeof prefix - 1;
    return length > start && memcmp(text, prefix, start) == 0 &&
           sodium_base642bin(out->bytes, sizeof out->bytes, text + start, length - start, NULL,
                             &out->length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
           out->length >= WEBHOOK_SECRET_BYTES_MIN;
}

static const char *read_secrets(struct reading *reading, const char *value) {
    struct webhook *webhook = reading->webhook;
    for (;;) {
        const size_t length = strcspn(value, ",");
        if (webhook->secret_count == WEBHOOK_SECRETS_MAX ||
            !read_secret(value, length, &webhook->secrets[webhook->secret_count])) {
            return "whsec_ and the base64 of 24 to 64 random bytes, or a list of up to 4 of these "
                   "(make one with: echo whsec_$(openssl rand -base64 32))";
        }
        webhook->secret_count++;
        if (value[length] == '\0') {
            return NULL;
        }
        value += length + 1;
    }
}

struct search {
    struct parley_bytes text;
    bool is_found;
};

static void look_for_event(void *context, const struct parley_protocol *protocol,
                           const char *event) {
    struct search *search = context;
    (void)protocol;
    search->is_found = search->is_found || parley_bytes_equal(parley_bytes_of(event), search->text);
}

static bool is_event(struct parley_bytes text) {
    struct search search = {.text = text};
    webhook_events_visit(look_for_event, &search);
    return search.is_found;
}

static bool is_protocol(struct parley_bytes text) {
    return parley_protocol_find(text) != NULL;
}

static bool all_are(const char *list, bool (*is_one)(struct parley_bytes text)) {
    for (;;) {
        const size_t length = strcspn(list, ",");
        if (!is_one((struct parley_bytes){list, length})) {
            return false;
        }
        if (list[length] == '\0') {
            return true;
        }
        list += length + 1;
    }
}

static const char *keep(struct reading *reading, const char *value, const char **out) {
    *out = copy(reading, value);
    return *out != NULL ? NULL : out_of_memory;
}

static const char *read_events(struct reading *reading, const char *value) {
    return all_are(value, is_event) ? keep(reading, value, &reading->webhook->events)
                                    : "events of docs/webhooks.md, such as task.ended or halted";
}

static const char *read_protocols(struct reading *reading, const char *value) {
    return all_are(value, is_protocol) ? keep(reading, value, &reading->webhook->protocols)
                                       : "names of protocols, which parley protocols lists";
}

static const char *read_domains(struct reading *reading, const char *value) {
    return keep(reading, value, &reading->webhook->domains);
}

static const char *read_senders(struct reading *reading, const char *value) {
    return keep(reading, value, &reading->webhook->senders);
}

static const char *read_at_once(struct reading *reading, const char *value) {
    uint64_t number = 0;
    const bool is_fine =
        quantity_read_count(value, &number) && number >= 1 && number <= WEBHOOK_AT_ONCE_MAX;
    reading->webhook->at_once = (unsigned)number;
    return is_fine ? NULL : "a whole number from 1 to 16";
}

static const char *read_private(struct reading *reading, const char *value) {
    reading->webhook->is_private = strcmp(value, "true") == 0;
    return reading->webhook->is_private || strcmp(value, "false") == 0 ? NULL : "true or false";
}

static const struct key {
    const char *name;
    bool is_list;
    const char *(*read)(struct reading *reading, const char *value);
} keys[] = {
    {"url", false, read_url},         {"secret", true, read_secrets},
    {"events", true, read_events},    {"protocols", true, read_protocols},
    {"domains", true, read_domains},  {"senders", true, read_senders},
    {"at-once", false, read_at_once}, {"private", false, read_private},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static const struct key *find_key(const char *name) {
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

static void on_entry(void *context, const struct configuration_entry *entry) {
    struct reading *reading = context;
    const struct key *key = find_key(entry->key);
    if (!reading->is_in_section) {
        parley_buffer_format(fault(reading, entry->line),
                             "'%.64s' must have the lines of a webhook below it: url, secret and "
                             "events",
                             entry->key);
    } else if (key == NULL) {
        parley_buffer_format(fault(reading, entry->line), "unknown key '%.64s'", entry->key);
    } else if (reading->webhook != NULL && entry->value != NULL) {
        const char *expected = entry->is_list && !key->is_list ? "one value, not a list"
                                                               : key->read(reading, entry->value);
        if (expected != NULL) {
            parley_buffer_format(fault(reading, entry->line), "'%s' must be %s", key->name,
                                 expected);
        }
    }
}

/* ---- sections ---- */

static bool is_name(const char *text) {
    const size_t length = strlen(text);
    return length >= 1 && length <= WEBHOOK_NAME_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static void begin(struct reading *reading, const char *name, size_t line) {
    struct webhook_file *file = reading->file;
    const char *wrong = !is_name(name) ? "a webhook's name is 1 to 32 of a-z 0-9 -"
                        : webhook_file_find(file, name) != NULL ? "this name is taken"
                        : file->count == WEBHOOKS_MAX           ? "there are more than 32 webhooks"
                                                                : NULL;
    if (wrong != NULL) {
        parley_buffer_format(fault(reading, line), "%s", wrong);
        return;
    }
    reading->webhook = &file->webhooks[file->count++];
    *reading->webhook = (struct webhook){.name = copy(reading, name), .at_once = WEBHOOK_AT_ONCE};
}

static void check(struct reading *reading) {
    const struct webhook *webhook = reading->webhook;
    const char *missing = webhook->url == NULL         ? "url"
                          : webhook->secret_count == 0 ? "secret"
                          : webhook->events == NULL    ? "events"
                                                       : NULL;
    if (missing != NULL) {
        parley_buffer_format(fault(reading, reading->line), "the webhook needs a usable '%s'",
                             missing);
    } else if (strncasecmp(webhook->url, "https://", 8) != 0 &&
               !(webhook->is_private && strncasecmp(webhook->url, "http://", 7) == 0)) {
        parley_buffer_format(fault(reading, reading->line),
                             "the url must begin with https:// (with 'private: true' http:// is "
                             "allowed, too)");
    }
}

static void on_section(void *context, const char *name, size_t line) {
    struct reading *reading = context;
    reading->is_in_section = name != NULL;
    reading->line = line;
    if (name != NULL) {
        begin(reading, name, line);
    } else if (reading->webhook != NULL) {
        check(reading);
        reading->webhook = NULL;
    }
}

static void on_fault(void *context, size_t line, const char *text) {
    const struct reading *reading = context;
    parley_buffer_format(fault(reading, line), "%s", text);
}

/* ---- files ---- */

static void read_text(const char *path, struct parley_bytes text, struct webhook_file *out,
                      struct parley_buffer *error) {
    struct reading reading = {.file = out, .path = path, .error = error};
    const struct configuration_visitor visitor = {
        .entry = on_entry, .section = on_section, .fault = on_fault, .context = &reading};
    if (!configuration_text_read(text, &visitor)) {
        parley_buffer_text(error, parley_status_text(PARLEY_E_MEMORY));
    } else if (error->length == 0 && out->count == 0) {
        parley_buffer_format(error, "%s: there is no webhook in it", path);
    }
}

bool webhook_file_read(const char *path, struct webhook_file *out, struct parley_buffer *error) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_arena_init(&out->texts, 0);
    parley_buffer_format(error, "%s: ", path); /* private_file does not name it */
    if (private_file_read(path, CONFIGURATION_FILE_BYTES_MAX, &text, error)) {
        parley_buffer_clear(error);
        read_text(path, parley_buffer_bytes(&text), out, error);
    }
    parley_buffer_finish(&text);
    return error->length == 0 && !error->has_failed;
}

void webhook_file_finish(struct webhook_file *file) {
    parley_arena_finish(&file->texts);
    *file = (struct webhook_file){0};
}

const struct webhook *webhook_file_find(const struct webhook_file *file, const char *name) {
    for (size_t i = 0; i < file->count; i++) {
        if (file->webhooks[i].name != NULL && strcmp(file->webhooks[i].name, name) == 0) {
            return &file->webhooks[i];
        }
    }
    return NULL;
}
