/* SPDX-License-Identifier: Apache-2.0 */

/* `parley webhooks test`: one request to a webhook, as the server would make it. */

#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "clock_and_ids.h"
#include "configuration_load.h"
#include "webhook_event.h"
#include "webhook_file.h"
#include "webhook_request.h"
#include "webhook_signature.h"

static const char help[] =
    "Usage: parley webhooks test [--webhooks FILE] NAME\n"
    "\n"
    "Sends one event of the type webhook.test to the webhook NAME, signed and with the same\n"
    "limits as the events of a server, and prints what it answered. It needs no server.\n"
    "\n"
    "Options:\n"
    "  --webhooks FILE  the file with the webhooks [PARLEY_WEBHOOKS, else as in the server's\n"
    "                   configuration file, PARLEY_CONFIG]\n"
    "  -h, --help       print this text\n"
    "\n"
    "Exit status: 0 accepted, 1 not accepted, 2 wrong usage, or the file cannot be used.\n"
    "\n"
    "Example:\n"
    "  parley webhooks test --webhooks webhooks.yaml deploys\n";

enum { WEBHOOKS, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {
    [WEBHOOKS] = {"webhooks", 0, true}, [HELP] = {"help", 'h', false}, {NULL, 0, false}};

enum { OPERANDS = 2 };

/* Returns: whether it was accepted; an error was printed if it was not. */
static bool send_test(const struct webhook *webhook, struct parley_bytes body) {
    struct webhook_request request = {.easy = NULL};
    struct webhook_result result;
    char id[WEBHOOK_ID_SIZE];
    const int64_t now_s = clock_now_seconds();
    webhook_id_write("webhook.test", parley_bytes_of(webhook->name), 0, now_s, id);
    if (!webhook_request_init(&request, webhook, id, now_s, body)) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        webhook_request_finish(&request);
        return false;
    }
    webhook_request_result(&request, curl_easy_perform(request.easy), &result);
    webhook_request_finish(&request);
    if (result.is_delivered) {
        printf("%s accepted %s: it answered %u\n", webhook->name, id, result.status);
    } else {
        terminal_error("%s did not accept the event: %s", webhook->name, result.error);
    }
    return result.is_delivered;
}

static int test(const struct webhook_file *file, const char *name) {
    const struct webhook *webhook = webhook_file_find(file, name);
    if (webhook == NULL) {
        const char *names[WEBHOOKS_MAX + 1] = {0};
        for (size_t i = 0; i < file->count; i++) {
            names[i] = file->webhooks[i].name;
        }
        terminal_error_unknown("webhook", name, names, "the file");
        return EXIT_USAGE;
    }
    struct parley_buffer body;
    parley_buffer_init(&body);
    webhook_event_write_test(webhook, clock_now_seconds(), &body);
    const bool is_sent = !body.has_failed && send_test(webhook, parley_buffer_bytes(&body));
    parley_buffer_finish(&body);
    return is_sent ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int test_from(const char *path, const char *name) {
    struct webhook_file file = {.count = 0};
    struct parley_buffer error;
    int status = EXIT_USAGE;
    parley_buffer_init(&error);
    if (webhook_file_read(path, &file, &error)) {
        status = test(&file, name);
    } else {
        terminal_error("%.*s", (int)error.length, error.data != NULL ? error.data : "");
    }
    parley_buffer_finish(&error);
    webhook_file_finish(&file);
    return status;
}

int command_webhooks(int argc, char **argv) {
    static const struct cli_usage usage = {"webhooks", flags, help, OPERANDS,
                                           "test takes one name"};
    const char *values[FLAG_COUNT] = {NULL}, *operands[OPERANDS] = {NULL};
    const int read = cli_read(&usage, argc, argv, values, operands);
    if (read >= 0) {
        return read;
    }
    if (operands[1] == NULL || strcmp(operands[0], "test") != 0) {
        terminal_error("expected parley webhooks test NAME (see parley webhooks --help)");
        return EXIT_USAGE;
    }
    struct configuration configuration;
    int status = configuration_load_webhooks(&configuration, values[WEBHOOKS]);
    if (status < 0 && configuration.webhooks == NULL) {
        terminal_error("no file is given: --webhooks FILE, or PARLEY_WEBHOOKS");
        status = EXIT_USAGE;
    }
    status = status < 0 ? test_from(configuration.webhooks, operands[1]) : status;
    configuration_finish(&configuration);
    return status;
}
