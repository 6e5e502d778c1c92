/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_trouble.h. Each change is reported once. This file decides nothing, with one
 * exception: nothing is published while the disk of an embedded server's store is full, on which
 * nats-server 2.9 hangs: it no longer answers, even once there is room again, until it is
 * killed. */

#include "jetstream_trouble.h"

#include "bus.h"
#include "jetstream_placement.h"
#include "jetstream_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
    STORE_TICK_MS = 500,
    STORE_BYTES_MIN = 64 << 20, /* or a tenth of a small disk; the largest message is 8 MiB */
    VIOLATION_KEPT_MS = 60000,
};

/* ---- the disk of the store ---- */

static uint64_t free_of(const struct statvfs *disk) {
    return (uint64_t)disk->f_bavail * disk->f_frsize;
}

/* So much of a disk stays free. */
static uint64_t reserve_of(const struct statvfs *disk) {
    const uint64_t tenth = (uint64_t)disk->f_blocks * disk->f_frsize / 10;
    return tenth < STORE_BYTES_MIN ? tenth : STORE_BYTES_MIN;
}

/* The shortage ends a quarter above the limit where it began, so that it does not flap. */
static bool lacks_room(const char *folder, bool lacked) {
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0) {
        return lacked;
    }
    const uint64_t reserve = reserve_of(&disk);
    return free_of(&disk) < (lacked ? reserve + reserve / 4 : reserve);
}

static void on_store_tick(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, trouble.store_tick);
    const bool lacked = jetstream->trouble.is_disk_full;
    reactor_timer_set(jetstream->reactor, timer, STORE_TICK_MS);
    jetstream->trouble.is_disk_full = lacks_room(jetstream->options.store, lacked);
    if (lacked != jetstream->trouble.is_disk_full) {
        jetstream_note_good(jetstream); /* probing starts over */
        jetstream_trouble_review(jetstream);
    }
}

/* Returns the room of the disk beyond its reserve. */
static uint64_t disk_left(const char *folder) {
    struct statvfs disk;
    if (folder == NULL || statvfs(folder, &disk) != 0) {
        return UINT64_MAX;
    }
    const uint64_t free_bytes = free_of(&disk), reserve = reserve_of(&disk);
    return free_bytes > reserve ? free_bytes - reserve : 0;
}

static uint64_t stream_left(const struct jetstream_room *room) {
    if (room->bytes_max == 0) {
        return UINT64_MAX;
    }
    return room->bytes_max > room->bytes ? room->bytes_max - room->bytes : 0;
}

uint64_t jetstream_room_left(const struct jetstream *jetstream, const char *subject) {
    const struct jetstream_check *check = jetstream_place_check(jetstream, subject);
    const uint64_t disk = disk_left(jetstream->options.store);
    const uint64_t stream = check != NULL ? stream_left(&check->room) : UINT64_MAX;
    return disk < stream ? disk : stream;
}

/* ---- forbidden subjects ---- */

bool jetstream_is_barred(struct jetstream *jetstream, const char *subject) {
    const struct jetstream_check *check = jetstream_place_check(jetstream, subject);
    if (check == NULL || check->grade != JETSTREAM_IS_UNUSABLE) {
        return false;
    }
    jetstream->setup.bar = check;
    return true;
}

const char *jetstream_bar(const struct jetstream *jetstream) {
    const struct jetstream_check *check = jetstream->setup.bar;
    return check != NULL && check->trouble[0] != '\0' ? check->trouble : NULL;
}

static void refuse(struct jetstream_check *check, const char *why) {
    struct jetstream_refusal *refusal = &check->refusal;
    snprintf(refusal->why, sizeof refusal->why, "%s", why);
    refusal->at_ms = reactor_now_ms(check->jetstream->reactor);
    refusal->is_weighed = false;
    jetstream_recheck(check->jetstream);
}

void jetstream_refusal_note(struct jetstream *jetstream, const char *stream, int error,
                            const char *text) {
    for (size_t i = 0; i < jetstream->setup.check_count; i++) {
        struct jetstream_check *check = &jetstream->setup.checks[i];
        if (check->place.families != 0 && strcmp(check->place.stream, stream) == 0) {
            char why[sizeof check->refusal.why];
            snprintf(why, sizeof why, "%s (%d)", text, error);
            refuse(check, why);
        }
    }
}

void jetstream_violation_note(struct jetstream *jetstream, bool is_publish, const char *subject) {
    struct jetstream_trouble_state *trouble = &jetstream->trouble;
    struct jetstream_check *check = is_publish ? jetstream_place_check(jetstream, subject) : NULL;
    if (check != NULL) {
        char why[sizeof check->refusal.why];
        snprintf(why, sizeof why, "NATS does not permit this user to publish to %s",
                 jetstream_place_subjects(check));
        refuse(check, why);
        return;
    }
    const bool is_api = strncmp(subject, "$JS.API.", 8) == 0;
    const bool is_inbox = strncmp(subject, "_INBOX.", 7) == 0;
    snprintf(trouble->violation, sizeof trouble->violation,
             "NATS does not permit this user to %s %s", is_publish ? "publish to" : "subscribe to",
             is_api     ? "$JS.API.>"
             : is_inbox ? "_INBOX.>"
                        : subject);
    trouble->is_vital = is_inbox || strncmp(subject, "$JS.API.STREAM.", 15) == 0;
    trouble->violation_ms = reactor_now_ms(jetstream->reactor);
    jetstream_trouble_review(jetstream);
}

bool jetstream_is_curable(const struct jetstream *jetstream) {
    const struct jetstream_trouble_state *trouble = &jetstream->trouble;
    const bool is_forbidden = trouble->is_vital && trouble->violation[0] != '\0';
    return !trouble->is_disk_full && !is_forbidden && jetstream->setup.last_off_error == 0 &&
           !bus_is_refused(jetstream->bus);
}

bool jetstream_is_patient(const struct jetstream *jetstream) {
    const int64_t since_ms = jetstream->trouble.since_ms;
    const bool is_outage =
        !jetstream->is_ready || jetstream->setup.last_round == JETSTREAM_ROUND_SILENT;
    return is_outage && jetstream->setup.has_started && since_ms >= 0 &&
           jetstream_is_curable(jetstream) &&
           reactor_now_ms(jetstream->reactor) - since_ms < jetstream->options.patience_ms;
}

/* ---- in words ---- */

static const char *describe_off(int error) {
    return error == JETSTREAM_E_OFF_FOR_ACCOUNT
               ? "JetStream is not enabled for this account: enable it in the configuration of the "
                 "NATS server"
               : "JetStream is not enabled on the NATS server: enable it there (nats-server -js)";
}

/* Returns a trouble that affects all streams, or NULL. */
static const char *describe_all(const struct jetstream *jetstream) {
    const struct jetstream_setup *setup = &jetstream->setup;
    const struct jetstream_trouble_state *trouble = &jetstream->trouble;
    if (trouble->is_disk_full) {
        return trouble->disk;
    }
    if (!bus_is_connected(jetstream->bus)) {
        return bus_why_away(jetstream->bus);
    }
    if (trouble->is_vital && trouble->violation[0] != '\0') {
        return trouble->violation;
    }
    if (setup->last_off_error != 0) {
        return describe_off(setup->last_off_error);
    }
    if (setup->last_round == JETSTREAM_ROUND_SILENT) {
        return "NATS is connected, but JetStream does not answer: the server's disk may be full "
               "(then nats-server has to be restarted), or JetStream has no leader at present";
    }
    return NULL;
}

static bool are_all_full(const struct jetstream *jetstream) {
    size_t full_count = 0, count = 0;
    for (size_t i = 0; i < jetstream_check_count(jetstream); i++) {
        const struct jetstream_check *check = &jetstream->setup.checks[i];
        if (jetstream_is_needed(check)) {
            count += check->place.families != 0 && check->group->stream->bucket_days == 0;
            full_count += check->grade == JETSTREAM_IS_FULL;
        }
    }
    return count > 0 && full_count >= count;
}

const char *jetstream_trouble(const struct jetstream *jetstream) {
    const char *all = describe_all(jetstream);
    if (all != NULL) {
        return all;
    }
    const struct jetstream_setup *setup = &jetstream->setup;
    const bool stops_any = !jetstream->is_ready || are_all_full(jetstream);
    for (size_t i = 0; i < jetstream->setup.check_count; i++) {
        const struct jetstream_check *check = &jetstream->setup.checks[i];
        const bool is_unusable = check->grade == JETSTREAM_IS_UNUSABLE;
        /* Once parley was ready, an unusable stream does not prevent it from being ready again. */
        const bool is_bystander = is_unusable && !jetstream->is_ready && setup->has_started;
        const bool stops = (is_unusable || stops_any) && jetstream_is_needed(check);
        if (stops && !is_bystander && check->trouble[0] != '\0') {
            return check->trouble;
        }
    }
    return jetstream->is_ready ? NULL : "parley is connecting to NATS or checking its streams";
}

static const char *remark_violation(const struct jetstream_trouble_state *trouble) {
    return trouble->violation[0] != '\0' && !trouble->is_vital ? trouble->violation : NULL;
}

const char *jetstream_remark(const struct jetstream *jetstream, size_t number) {
    for (size_t i = 0; i < jetstream->setup.check_count; i++) {
        const struct jetstream_check *check = &jetstream->setup.checks[i];
        if (check->trouble[0] != '\0' && number-- == 0) {
            return check->trouble;
        }
    }
    return number == 0 ? remark_violation(&jetstream->trouble) : NULL;
}

/* ---- reporting ---- */

static void report(struct jetstream *jetstream, const char *subject, const char *text,
                   char reported[JETSTREAM_TROUBLE_MAX]) {
    text = text != NULL ? text : "";
    if (strcmp(text, reported) == 0) {
        return;
    }
    snprintf(reported, JETSTREAM_TROUBLE_MAX, "%s", text);
    if (jetstream->events.trouble != NULL) {
        jetstream->events.trouble(jetstream->events.context, subject,
                                  text[0] != '\0' ? reported : NULL);
    }
}

void jetstream_trouble_review(struct jetstream *jetstream) {
    struct jetstream_trouble_state *trouble = &jetstream->trouble;
    const struct jetstream_setup *setup = &jetstream->setup;
    const bool is_known = bus_is_connected(jetstream->bus) && setup->pending_count == 0;
    const int64_t age_ms = reactor_now_ms(jetstream->reactor) - trouble->violation_ms;
    if (trouble->is_vital ? is_known && setup->last_round == JETSTREAM_ROUND_ANSWERED
                          : age_ms > VIOLATION_KEPT_MS) {
        trouble->violation[0] = '\0';
    }
    const char *all = describe_all(jetstream);
    const bool was_well = trouble->since_ms < 0;
    trouble->since_ms = all == NULL && jetstream->is_ready ? -1
                        : was_well                         ? reactor_now_ms(jetstream->reactor)
                                                           : trouble->since_ms;
    if (all != NULL || is_known) {
        report(jetstream, "NATS", all, trouble->reported_all);
    }
    report(jetstream, "permissions in NATS", remark_violation(trouble),
           trouble->reported_violation);
    for (size_t i = 0; is_known && all == NULL && i < setup->check_count; i++) {
        struct jetstream_check *check = &setup->checks[i];
        char subject[JETSTREAM_NAME_MAX];
        if (check->trouble[0] == '\0' && check->reported[0] == '\0') {
            continue;
        }
        snprintf(subject, sizeof subject, "stream %s", check->place.stream);
        report(jetstream, subject, check->trouble, check->reported);
    }
}

void jetstream_trouble_begin(struct jetstream *jetstream) {
    struct jetstream_trouble_state *trouble = &jetstream->trouble;
    trouble->since_ms = -1;
    if (jetstream->options.store != NULL) {
        snprintf(trouble->disk, sizeof trouble->disk,
                 "the disk of the store %s is full: no message is stored until space is freed",
                 jetstream->options.store);
        trouble->store_tick.fire = on_store_tick;
        reactor_timer_set(jetstream->reactor, &trouble->store_tick, 0);
    }
}

void jetstream_trouble_end(struct jetstream *jetstream) {
    reactor_timer_clear(jetstream->reactor, &jetstream->trouble.store_tick);
}
