# shellcheck shell=bash
# What the tests of this folder share. It is sourced.

failed=0 count=0

claim() { # WHAT COMMAND…: that the command succeeds
    local what=$1 out
    shift
    count=$((count + 1))
    if out=$("$@" 2>&1); then
        return
    fi
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s\n' "$what" "${out:0:3000}"
}

# As a command, for claim.
equal() { # GOT EXPECTED
    [[ $1 == "$2" ]] && return
    printf '  got:      %s\n  expected: %s\n' "$1" "$2"
    return 1
}
not() { ! "$@"; }
is_silent() { # COMMAND…: it succeeds and prints nothing
    local out
    out=$("$@" 2>&1) && [[ -z $out ]] && return
    printf '%s\n' "$out"
    return 1
}

finish() {
    printf '%d passed, %d failed\n' $((count - failed)) "$failed"
    ((failed == 0))
}
