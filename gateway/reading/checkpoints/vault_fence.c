/* SPDX-License-Identifier: Apache-2.0 */

#include "vault_fence.h"

enum { DEPTH_MAX = 64 }; /* of a message (GW-004) */

static enum vault_fence_place enter(struct vault_fence *fence, bool is_array) {
    if (fence->depth == DEPTH_MAX) {
        return VAULT_FENCE_BROKEN;
    }
    fence->arrays =
        (fence->arrays & ~(UINT64_C(1) << fence->depth)) | ((uint64_t)is_array << fence->depth);
    fence->depth++;
    return VAULT_FENCE_INSIDE;
}

static enum vault_fence_place after_value(const struct vault_fence *fence) {
    return fence->depth == 0 ? VAULT_FENCE_AFTER : VAULT_FENCE_INSIDE;
}

static enum vault_fence_place leave(struct vault_fence *fence, bool is_array) {
    fence->depth--;
    return (fence->arrays >> fence->depth & 1) == is_array ? after_value(fence)
                                                           : VAULT_FENCE_BROKEN;
}

static enum vault_fence_place pass_inside(struct vault_fence *fence, char c) {
    switch (c) {
    case '"':
        return VAULT_FENCE_STRING;
    case '{':
    case '[':
        return enter(fence, c == '[');
    case '}':
    case ']':
        return leave(fence, c == ']');
    default:
        return VAULT_FENCE_INSIDE;
    }
}

static enum vault_fence_place pass(struct vault_fence *fence, char c) {
    switch (fence->place) {
    case VAULT_FENCE_BEFORE:
        return c == '{' ? enter(fence, false) : c == '"' ? VAULT_FENCE_STRING : VAULT_FENCE_BROKEN;
    case VAULT_FENCE_INSIDE:
        return pass_inside(fence, c);
    case VAULT_FENCE_STRING:
        return c == '"' ? after_value(fence) : c == '\\' ? VAULT_FENCE_ESCAPE : VAULT_FENCE_STRING;
    case VAULT_FENCE_ESCAPE:
        return VAULT_FENCE_STRING;
    case VAULT_FENCE_AFTER:
    case VAULT_FENCE_BROKEN:
        break;
    }
    return VAULT_FENCE_BROKEN;
}

bool vault_fence_take(struct vault_fence *fence, struct parley_bytes bytes) {
    for (size_t i = 0; i < bytes.length && fence->place != VAULT_FENCE_BROKEN; i++) {
        fence->place = pass(fence, bytes.data[i]);
    }
    return fence->place != VAULT_FENCE_BROKEN;
}
