#!/usr/bin/env bash
# Follows a stream and prints its messages, one a line. It goes on where it was after a restart of
# itself, because it keeps the resume token in a file, and after one of the server.
#   reader.sh [URL [FILE]]      (PARLEY_TOKEN: a token, if the server asks for one)
# Needs curl 7.76 and jq.
set -u -o pipefail
url=${1:-http://localhost:8080/v1/vlp/stream}
file=${2:-resume-token}

save() { # TOKEN
    printf '%s' "$1" >"$file.new" && mv "$file.new" "$file" # never half a token
}

take() { # EVENT
    local type resume
    # The last line may be cut off: it is no JSON then.
    { read -r type && read -r resume; } < <(jq -r '.type, .resume // ""' <<<"$1" 2>/dev/null) || return
    case $type in
    parley.gap | parley.foreign | parley.end) jq -c '[.type, .data]' <<<"$1" >&2 ;;
    parley.*) ;;
    /problems/*) jq -r .detail <<<"$1" >&2 ;;
    *) jq -c .data <<<"$1" ;; # what you do with a message
    esac
    [[ -z $resume ]] || save "$resume" # only now: if killed before, it gets the message again
}

# Less than a byte a second for 40 s: a keep-alive comes every 15 s. A refusal is one line, too.
follow() {
    local since=all
    [[ ! -s $file ]] || since=$(<"$file")
    curl -sN -G "$url" --data-urlencode "since=$since" --fail-with-body -Y 1 -y 40 \
        -H @<([[ -z ${PARLEY_TOKEN-} ]] || echo "Authorization: Bearer $PARLEY_TOKEN") |
        while IFS= read -r line; do
            [[ -z $line ]] || take "$line"
        done
}

while :; do
    follow
    sleep 0.5
done
