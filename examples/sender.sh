#!/usr/bin/env bash
# Sends messages, one JSON a line of standard input, each until parley has stored it.
#   sender.sh [URL] <messages.ndjson      (PARLEY_TOKEN: a token, if the server asks for one)
# Exit status: 0 all were stored, 1 some were refused: standard error says why.
# Needs curl 7.76 and jq.
set -u
url=${1:-http://localhost:8080/v1/vlp/messages}
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# Prints the status; 000 without an answer: the message may have been stored, or not.
# The token is read from a file, since others can see a program's arguments.
post() { # LINE
    local key
    # The same line is stored once, however often it is sent within the dedupe window.
    key=$(printf '%s' "$1" | sha256sum | cut -d' ' -f1)
    printf '%s' "$1" | curl -s -m 30 -o "$answer" -w '%{http_code}' "$url" --data-binary @- \
        -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
        -H @<([[ -z ${PARLEY_TOKEN-} ]] || echo "Authorization: Bearer $PARLEY_TOKEN")
}

send() { # LINE
    local delay=0.2
    while :; do
        case $(post "$1") in
        200)
            jq -r '"\(.stream) \(.seq) \(.id)"' "$answer"
            return 0
            ;;
        000 | 429 | 503 | 504) # nothing else may be repeated
            sleep "$delay"
            [[ $delay != 0.2 ]] || delay=2
            ;;
        *)
            jq -r '.detail, (.violations[]? | "    \(.path) \(.hint)")' "$answer" >&2
            return 1
            ;;
        esac
    done
}

status=0
while IFS= read -r line || [[ -n $line ]]; do
    [[ -z $line ]] || send "$line" || status=1
done
exit $status
