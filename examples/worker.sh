#!/usr/bin/env bash
# Takes tasks, one after another: each is claimed for this agent, its payload is given to a command,
# and what that prints is the result. While the command runs, the task is extended; when it was lost,
# or has ended without this agent, the command is stopped.
#   worker.sh AGENT COMMAND…      (PARLEY_URL: the server, PARLEY_TOKEN: a token, if it asks for one,
#                                  PARLEY_EXTEND: after how many seconds the task is extended, 60)
# Needs curl 7.76 and jq.
set -u -o pipefail
agent=$1 command=("${@:2}") url=${PARLEY_URL:-http://localhost:8080}/v1/roundtable
uuid() { cat /proc/sys/kernel/random/uuid; }
output=$(mktemp) && trap 'rm -f "$output"' EXIT

# Repeats until there is an answer: the same message is stored once, the same key gets the same task.
# Prints the answer; nothing if there is no task. Fails where repeating does not help.
post() { # PATH BODY [HEADER…]
    local answer path=$1 body=$2 headers=('Content-Type: application/json' "${@:3}")
    while :; do
        answer=$(curl -s -m 60 -w '\n%{http_code}' "$url/$path" "${headers[@]/#/-H}" --data-binary @- \
            -H @<([[ -z ${PARLEY_TOKEN-} ]] || echo "Authorization: Bearer $PARLEY_TOKEN") <<<"$body")
        case ${answer##*$'\n'} in
        200 | 204) printf '%s' "${answer%$'\n'*}" && return ;;
        000 | 429 | 503 | 504) sleep 1 ;;
        *) jq -r .detail <<<"${answer%$'\n'*}" >&2; return 1 ;;
        esac
    done
}
report() { # TYPE PAYLOAD: of $task
    post messages "$(jq --arg id "$(uuid)" --arg at "$(date -u +%FT%TZ)" --arg agent "$agent" \
        --arg type "$1" --argjson task "$task" '{id: $id, version: "1.0", type: $type, from: $agent,
        to: $task.from, timestamp: $at, correlationId: $task.id, payload: .}' <<<"$2")" |
        jq -r '"\(.type) \(.seq)"'
}
# Runs the command for $task. Stops it, and sets $lost, when the agent does not hold that any more.
work() {
    local program clock
    lost=
    jq -c .payload <<<"$task" | "${command[@]}" >"$output" &
    program=$!
    while kill -0 "$program" 2>/dev/null; do
        sleep "${PARLEY_EXTEND:-60}" &
        clock=$!
        wait -n "$program" "$clock"
        kill "$clock" 2>/dev/null && break # the command was first
        post "tasks/$(jq -r .id <<<"$task")/extend" "$who" >/dev/null || { kill "$program"; lost=yes; break; }
    done
    wait "$program"
}

who=$(jq -n --arg agent "$agent" '{agent: $agent}')
while taken=$(post tasks/next "$who" 'Prefer: wait=30' "Idempotency-Key: $(uuid)"); do
    [[ -n $taken ]] || continue
    task=$(jq -c .task <<<"$taken") type=task.result
    work && payload=$(jq -Rs '{status: "completed", result: {format: "text", content: .}}' "$output") ||
        type=task.failed payload='{"error": "internal_error", "retryable": false}'
    [[ -n $lost ]] || report "$type" "$payload"
done
