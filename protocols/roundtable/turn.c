/* SPDX-License-Identifier: Apache-2.0 */

#include "turn.h"

#include "fact_value.h"
#include "roundtable.h"
#include "text.h"

static const char *const kinds[] = {[ROUNDTABLE_TURN_CLAIM] = "claim",
                                    [ROUNDTABLE_TURN_EXTEND] = "extend",
                                    [ROUNDTABLE_TURN_RELEASE] = "release",
                                    [ROUNDTABLE_TURN_FAILED] = "failed",
                                    NULL};

/* ---- reading ---- */

/* Returns: whether the member is a time. */
static bool read_time(const struct roundtable_fact *fact, enum roundtable_member member,
                      double *out) {
    const struct parley_bytes text = roundtable_fact_text(fact, member);
    return text.data != NULL && text_unix_time(text, out);
}

/* A first claim says none of it if an older gateway wrote it. A kind that is not known holds the
 * task: it is safer than to give it to two agents. */
static enum roundtable_turn_kind read_kind(const struct roundtable_fact *fact, bool is_first) {
    const struct parley_bytes text = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_KIND);
    const size_t kind = text.data != NULL ? text_choice(text, kinds) : 0;
    return is_first || kinds[kind] == NULL ? ROUNDTABLE_TURN_CLAIM
                                           : (enum roundtable_turn_kind)kind;
}

static uint64_t number_or_1(const struct roundtable_fact *fact, enum roundtable_member member) {
    const uint64_t number = fact_value_number(&fact->members[member]);
    return number != 0 ? number : 1;
}

void roundtable_turn_read(const struct roundtable_task *task, struct roundtable_turn *out) {
    const bool is_first = !task->turn.is_there;
    const struct roundtable_fact *fact = is_first ? &task->claim : &task->turn;
    *out = (struct roundtable_turn){.is_there = task->claim.is_there, .fact = fact};
    if (!out->is_there) {
        return;
    }
    out->kind = read_kind(fact, is_first);
    out->number = number_or_1(fact, ROUNDTABLE_MEMBER_N);
    out->attempt = number_or_1(fact, ROUNDTABLE_MEMBER_ATTEMPT);
    out->holder = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_HOLDER);
    out->has_until = read_time(fact, ROUNDTABLE_MEMBER_UNTIL, &out->until);
    (void)read_time(fact, ROUNDTABLE_MEMBER_NOT_BEFORE, &out->not_before);
    out->claimed_at = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_CLAIMED_AT);
    if (out->claimed_at.data == NULL) {
        out->claimed_at = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_AT);
    }
}

enum roundtable_holding roundtable_turn_holding(const struct roundtable_turn *turn,
                                                int64_t now_seconds) {
    if (!turn->is_there) {
        return ROUNDTABLE_NEVER_CLAIMED;
    }
    if (turn->kind == ROUNDTABLE_TURN_RELEASE || turn->kind == ROUNDTABLE_TURN_FAILED) {
        return ROUNDTABLE_OPEN_AGAIN;
    }
    const bool has_lapsed =
        turn->has_until && now_seconds != 0 && turn->until <= (double)now_seconds;
    return has_lapsed ? ROUNDTABLE_LAPSED : ROUNDTABLE_HELD;
}

/* ---- writing ---- */

void roundtable_turn_write_key(struct parley_bytes id, uint64_t number, struct parley_buffer *out) {
    parley_buffer_append(out, id);
    parley_buffer_text(out, ".turn.");
    parley_buffer_uint(out, number);
}

static void write_head(struct parley_buffer *out, uint64_t number, enum roundtable_turn_kind kind,
                       struct parley_bytes holder, uint64_t attempt) {
    parley_buffer_text(out, ",\"n\":");
    parley_buffer_uint(out, number);
    parley_buffer_format(out, ",\"kind\":\"%s\"", kinds[kind]);
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_HOLDER, holder);
    parley_buffer_text(out, ",\"attempt\":");
    parley_buffer_uint(out, attempt);
}

static void write_time(struct parley_buffer *out, enum roundtable_member member, int64_t seconds) {
    char text[TEXT_TIME_SIZE];
    text_write_unix_time((double)seconds, text);
    roundtable_fact_write_text(out, member, parley_bytes_of(seconds != 0 ? text : NULL));
}

static void write_why(struct parley_buffer *out, struct parley_bytes why) {
    parley_buffer_text(out, ",\"why\":");
    if (why.data != NULL) {
        parley_buffer_json(out, why);
    } else {
        parley_buffer_text(out, "null");
    }
}

/* So that the message, sent again, is known after the turns that followed. */
static void write_failure(struct parley_buffer *out, struct parley_bytes id) {
    if (id.data != NULL) {
        roundtable_fact_write_id(out, ROUNDTABLE_MEMBER_FAILURE, id);
    }
}

uint64_t roundtable_turn_failed_sequence(const struct roundtable_turn *turn) {
    return roundtable_fact_sequence(turn->fact, turn->kind == ROUNDTABLE_TURN_FAILED
                                                    ? ROUNDTABLE_MEMBER_SEQ
                                                    : ROUNDTABLE_MEMBER_FAILED_SEQ);
}

static void copy_failure(struct parley_buffer *out, const struct roundtable_turn *turn) {
    const uint64_t sequence = roundtable_turn_failed_sequence(turn);
    write_failure(out, roundtable_fact_text(turn->fact, ROUNDTABLE_MEMBER_FAILURE));
    if (sequence != 0) {
        roundtable_fact_write_number(out, ROUNDTABLE_MEMBER_FAILED_SEQ, sequence);
    }
}

void roundtable_turn_write_claim(const struct parley_message *message,
                                 const struct roundtable_turn *before,
                                 const struct roundtable_claim *claim, struct parley_buffer *out) {
    write_head(out, claim->number, ROUNDTABLE_TURN_CLAIM,
               parley_message_text(message, ROUNDTABLE_FROM), claim->attempt);
    write_time(out, ROUNDTABLE_MEMBER_UNTIL, claim->until);
    roundtable_fact_write_number(out, ROUNDTABLE_MEMBER_LEASE, claim->lease);
    roundtable_fact_write_id(out, ROUNDTABLE_MEMBER_CLAIM,
                             parley_message_text(message, ROUNDTABLE_ID));
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_AT,
                               parley_message_text(message, ROUNDTABLE_TIMESTAMP));
    write_why(out, parley_bytes_of(claim->why));
    copy_failure(out, before);
    roundtable_fact_write_request_place(out, claim->request);
}

/* A turn without a message says what its claim says. */
static void write_following(const struct roundtable_turn *turn, enum roundtable_turn_kind kind,
                            int64_t now, struct parley_buffer *out) {
    write_head(out, turn->number + 1, kind, turn->holder, turn->attempt);
    roundtable_fact_copy(out, turn->fact, ROUNDTABLE_MEMBER_STREAM);
    roundtable_fact_copy(out, turn->fact, ROUNDTABLE_MEMBER_SEQ);
    roundtable_fact_copy(out, turn->fact, ROUNDTABLE_MEMBER_CLAIM);
    copy_failure(out, turn);
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_CLAIMED_AT, turn->claimed_at);
    roundtable_fact_write_number(
        out, ROUNDTABLE_MEMBER_LEASE,
        roundtable_fact_option(turn->fact, ROUNDTABLE_MEMBER_LEASE, ROUNDTABLE_OPTION_LEASE));
    write_time(out, ROUNDTABLE_MEMBER_AT, now);
}

void roundtable_turn_write_extend(const struct roundtable_turn *turn, int64_t now, int64_t until,
                                  const char *why, struct parley_buffer *out) {
    write_following(turn, ROUNDTABLE_TURN_EXTEND, now, out);
    write_time(out, ROUNDTABLE_MEMBER_UNTIL, until);
    write_why(out, parley_bytes_of(why));
}

void roundtable_turn_write_release(const struct roundtable_turn *turn, int64_t now,
                                   int64_t not_before, struct parley_bytes why,
                                   struct parley_buffer *out) {
    write_following(turn, ROUNDTABLE_TURN_RELEASE, now, out);
    write_time(out, ROUNDTABLE_MEMBER_NOT_BEFORE, not_before);
    write_why(out, why);
}

void roundtable_turn_write_failed(const struct parley_message *message,
                                  const struct roundtable_turn *turn, int64_t now,
                                  int64_t not_before, struct parley_buffer *out) {
    enum { WHY_BYTES_MAX = 64 };
    write_head(out, turn->number + 1, ROUNDTABLE_TURN_FAILED, turn->holder, turn->attempt);
    roundtable_fact_copy(out, turn->fact, ROUNDTABLE_MEMBER_CLAIM);
    write_failure(out, parley_message_text(message, ROUNDTABLE_ID));
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_CLAIMED_AT, turn->claimed_at);
    write_time(out, ROUNDTABLE_MEMBER_AT, now);
    write_time(out, ROUNDTABLE_MEMBER_NOT_BEFORE, not_before);
    write_why(out, text_prefix(parley_message_text(message, ROUNDTABLE_ERROR), WHY_BYTES_MAX));
}

/* ---- for readers ---- */

enum parley_status roundtable_turn_write(struct parley_bytes value, struct parley_arena *arena,
                                         struct parley_buffer *out) {
    static const enum roundtable_member members[] = {ROUNDTABLE_MEMBER_UNTIL,
                                                     ROUNDTABLE_MEMBER_NOT_BEFORE,
                                                     ROUNDTABLE_MEMBER_AT, ROUNDTABLE_MEMBER_WHY};
    struct roundtable_fact fact;
    PARLEY_TRY(roundtable_fact_read(value, arena, &fact));
    const uint64_t number = number_or_1(&fact, ROUNDTABLE_MEMBER_N);
    parley_buffer_text(out, "{\"n\":");
    parley_buffer_uint(out, number);
    parley_buffer_format(out, ",\"kind\":\"%s\"", kinds[read_kind(&fact, number == 1)]);
    roundtable_fact_copy(out, &fact, ROUNDTABLE_MEMBER_HOLDER);
    parley_buffer_text(out, ",\"attempt\":");
    parley_buffer_uint(out, number_or_1(&fact, ROUNDTABLE_MEMBER_ATTEMPT));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        roundtable_fact_copy(out, &fact, members[i]);
    }
    parley_buffer_char(out, '}');
    return parley_buffer_status(out);
}
