/* SPDX-License-Identifier: Apache-2.0 */

#include "json_span.h"

enum { DEPTH_MAX = 64 }; /* of a message (GW-004) */

static enum json_span_position enter(struct json_span *fence, bool is_array) {
    if (fence->depth == DEPTH_MAX) {
        return JSON_SPAN_BROKEN;
    }
    fence->arrays =
        (fence->arrays & ~(UINT64_C(1) << fence->depth)) | ((uint64_t)is_array << fence->depth);
    fence->depth++;
    return JSON_SPAN_INSIDE;
}

static enum json_span_position after_value(const struct json_span *fence) {
    return fence->depth == 0 ? JSON_SPAN_AFTER : JSON_SPAN_INSIDE;
}

static enum json_span_position leave(struct json_span *fence, bool is_array) {
    fence->depth--;
    return (fence->arrays >> fence->depth & 1) == is_array ? after_value(fence) : JSON_SPAN_BROKEN;
}

static enum json_span_position pass_inside(struct json_span *fence, char c) {
    switch (c) {
    case '"':
        return JSON_SPAN_STRING;
    case '{':
    case '[':
        return enter(fence, c == '[');
    case '}':
    case ']':
        return leave(fence, c == ']');
    default:
        return JSON_SPAN_INSIDE;
    }
}

static enum json_span_position pass(struct json_span *fence, char c) {
    switch (fence->position) {
    case JSON_SPAN_BEFORE:
        return c == '{' ? enter(fence, false) : c == '"' ? JSON_SPAN_STRING : JSON_SPAN_BROKEN;
    case JSON_SPAN_INSIDE:
        return pass_inside(fence, c);
    case JSON_SPAN_STRING:
        return c == '"' ? after_value(fence) : c == '\\' ? JSON_SPAN_ESCAPE : JSON_SPAN_STRING;
    case JSON_SPAN_ESCAPE:
        return JSON_SPAN_STRING;
    case JSON_SPAN_AFTER:
    case JSON_SPAN_BROKEN:
        break;
    }
    return JSON_SPAN_BROKEN;
}

bool json_span_take(struct json_span *fence, struct parley_bytes bytes) {
    for (size_t i = 0; i < bytes.length && fence->position != JSON_SPAN_BROKEN; i++) {
        fence->position = pass(fence, bytes.data[i]);
    }
    return fence->position != JSON_SPAN_BROKEN;
}
