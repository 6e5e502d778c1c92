/* SPDX-License-Identifier: Apache-2.0 */

/* Run by CMake with the nats.c at hand: whether the functions that library_exported.c calls and
 * nats.h does not declare are there, and do what it expects of them. It needs no server; what needs
 * one is asked by tests/unit/test_bus.c. */

#include <stdbool.h>
#include <string.h>

#include <nats/nats.h>

typedef void nats_filter_fn(natsConnection *connection, natsMsg **message, void *context);
void natsConn_setFilterWithClosure(natsConnection *connection, nats_filter_fn *filter,
                                   void *context);
natsStatus natsMsg_create(natsMsg **out, const char *subject, int subject_length, const char *reply,
                          int reply_length, const char *text, int text_length, int headers_length);
void natsMsg_free(void *message);
bool natsConn_srvVersionAtLeast(natsConnection *connection, int major, int minor, int patch);

static bool is_text(const char *text, const char *wanted) {
    return text != NULL && strcmp(text, wanted) == 0;
}

int main(void) {
    static const char headers[] = "NATS/1.0\r\nNats-Msg-Id: 17\r\n\r\n",
                      text[] = "NATS/1.0\r\nNats-Msg-Id: 17\r\n\r\nhello";
    const int length = (int)strlen(text), headers_length = (int)strlen(headers);
    natsMsg *message = NULL;
    const char *value = NULL;
    if (natsMsg_create(&message, "a.subject", 9, "a.reply", 7, text, length, headers_length) !=
            NATS_OK ||
        !is_text(natsMsg_GetSubject(message), "a.subject") ||
        !is_text(natsMsg_GetReply(message), "a.reply") ||
        natsMsg_GetDataLength(message) != length - headers_length ||
        memcmp(natsMsg_GetData(message), "hello", 5) != 0 ||
        natsMsgHeader_Get(message, "Nats-Msg-Id", &value) != NATS_OK || !is_text(value, "17")) {
        return 1;
    }
    natsMsg_free(message);
    /* They need a connection; here they need only be there. */
    return natsConn_setFilterWithClosure == NULL || natsConn_srvVersionAtLeast == NULL;
}
