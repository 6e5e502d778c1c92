# shellcheck shell=bash
# The Debian packages in a fresh Debian: installed, run under the limits of their unit, purged. It is
# sourced by run, whose helpers it uses. There is no systemd in a container, so that the unit's limits
# are set in Docker's terms: the system calls and sockets are filtered by the unit's own lists, and
# the file system is read-only but for the data folder.

: "${made:?}" "${work:?}" # of run

unit=/usr/lib/systemd/system/parley.service

# They are made for this machine's Debian, and installed in the same. (sid has no name of its own there.)
release=$(sed -nE 's/^VERSION_CODENAME=//p' /etc/os-release)
has_packages() { grep -qx ID=debian /etc/os-release && grep -q '^VERSION_ID=' /etc/os-release; }

in_debian() { # COMMAND…, in the container that they are installed in
    docker exec -e DEBIAN_FRONTEND=noninteractive debian "$@"
}

# All that there is, but for what apt and dpkg remember, and the copies that are made of passwd.
names_in() { # CONTAINER
    docker exec "$1" sh -c "find / -xdev -path /packages -prune -o -print; cut -d: -f1 /etc/passwd /etc/group" |
        grep -vE '^/(proc|sys|dev|tmp|run|var/(lib/(dpkg|apt)|cache|log))(/|$)|^/etc/(.*-|\.pwd\.lock)$|ld\.so\.cache' |
        sort
}

install_packages() {
    say "The Debian packages, in a fresh Debian"
    docker run -d --name debian --network host -v "$made:/packages:ro" "debian:$release-slim" \
        sleep infinity >/dev/null
    in_debian sh -c 'apt-get -qq update &&
        apt-get install -qq --no-install-recommends nats-server systemd-standalone-sysusers' \
        >"$work/apt.log" 2>&1 || die "apt-get failed: $(tail -n 20 "$work/apt.log")"
    names_in debian >"$work/names.before"
    # The pattern is the container's shell's.
    check "apt-get installs parley and what it needs" \
        in_debian sh -c 'apt-get install -qq --no-install-recommends /packages/parley-gateway_*.deb >/dev/null 2>&1'
    check "the program runs" in_debian sh -c 'parley --version >/dev/null'
    check "there is a user for it" in_debian sh -c 'id parley >/dev/null'
    check "its service is enabled" in_debian test -e \
        /etc/systemd/system/multi-user.target.wants/parley.service
    check "a package of a later version replaces it" install_later
    check "… and keeps what the administrator configured" \
        in_debian grep -qx '# ours' /etc/parley/parley.conf
    docker commit debian parley-installed >/dev/null
    docker rm -f debian >/dev/null
}

# What is packaged, with another version and another configuration, over what is installed.
install_later() {
    in_debian sh -ec '
        echo "# ours" >>/etc/parley/parley.conf
        dpkg-deb -R /packages/parley-gateway_*.deb /tmp/later
        sed -i "s/^Version: .*/Version: 999/" /tmp/later/DEBIAN/control
        echo "# of the later version" >>/tmp/later/etc/parley/parley.conf
        dpkg-deb -b --root-owner-group /tmp/later /tmp/later.deb
        dpkg -i --force-confdef --force-confold /tmp/later.deb
        dpkg -s parley-gateway | grep -qx "Version: 999"
        parley --version
        rm -rf /tmp/later /tmp/later.deb' >"$work/later.log" 2>&1 && return
    cat "$work/later.log" >&2
    return 1
}

# The system calls of these sets, one a line.
calls_of() { # @SET…
    local set name
    for set; do
        systemd-analyze syscall-filter "$set" | sed -nE 's/^ +([@a-z0-9_-]+).*/\1/p' |
            while read -r name; do
                if [[ $name == @* ]]; then calls_of "$name"; else echo "$name"; fi
            done
    done
}

of_unit() { # KEY: its values in the unit, a word a line
    sed -nE "s/^$1=//p" "$work/unit" | tr -s ' ' '\n'
}

# Docker's form of what the unit says by SystemCallFilter, RestrictAddressFamilies and
# MemoryDenyWriteExecute. What is not allowed fails, as there.
write_seccomp() {
    local allowed families=() family wanted denied
    mapfile -t wanted < <(sed -nE 's/^SystemCallFilter=([^~])/\1/p' "$work/unit" | tr ' ' '\n')
    mapfile -t denied < <(sed -nE 's/^SystemCallFilter=~//p' "$work/unit" | tr ' ' '\n')
    allowed=$(comm -23 <(calls_of @default "${wanted[@]}" | sort -u) <(calls_of "${denied[@]}" | sort -u) |
        grep -vxE 'socket|mmap|mprotect' | sed 's/.*/"&"/' | paste -sd ,)
    for family in $(of_unit RestrictAddressFamilies); do
        case $family in
        AF_UNIX) families+=(1) ;;
        AF_INET) families+=(2) ;;
        AF_INET6) families+=(10) ;;
        *) die "What number has $family?" ;;
        esac
    done
    {
        printf '{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":[%s],"action":"SCMP_ACT_ALLOW"}' "$allowed"
        printf ',{"names":["socket"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":%s,"op":"SCMP_CMP_EQ"}]}' \
            "${families[@]}"
        # Of PROT_WRITE and PROT_EXEC one at most; none is made executable later.
        printf ',{"names":["mmap"],"action":"SCMP_ACT_ALLOW","args":[{"index":2,"value":6,"valueTwo":%s,"op":"SCMP_CMP_MASKED_EQ"}]}' \
            0 2 4
        printf ',{"names":["mprotect"],"action":"SCMP_ACT_ALLOW","args":[{"index":2,"value":4,"valueTwo":0,"op":"SCMP_CMP_MASKED_EQ"}]}'
        printf ']}\n'
    } >"$work/seccomp.json"
}

run_unit() {
    local command environment
    docker run --rm --network none parley-installed cat "$unit" >"$work/unit"
    write_seccomp
    command=$(sed -nE 's/^ExecStart=//p' "$work/unit")
    environment=$(sed -nE 's/^Environment=//p' "$work/unit")
    # shellcheck disable=SC2086 # the command's words
    docker run -d --name unit --network host -v state:/var/lib/parley \
        --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
        --security-opt seccomp="$work/seccomp.json" --user parley \
        -e "${environment//%S//var/lib}" parley-installed $command >/dev/null
}

test_packages() {
    local url=http://127.0.0.1:8080
    say "The packaged service, under the limits of its unit"
    docker run --rm --network none -v state:/var/lib/parley parley-installed \
        install -d -o parley -g parley -m 0700 /var/lib/parley
    run_unit
    check "it becomes ready" wait_for answers 200 "$url/readyz"
    check "it does not run as root" not test "$(docker exec unit id -u)" = 0
    check "its system calls are filtered" docker exec unit grep -q '^Seccomp:.*2$' /proc/1/status
    check "a valid message is stored" post 200 "$url" "$(message MSG001)"
    check "an invalid message is refused" post 422 "$url" '{"type":"claim"}'
    check "the stream replays what was stored" replays "$url" 1
    docker kill --signal HUP unit >/dev/null
    check "SIGHUP does not end it" answers 200 "$url/readyz"
    check "SIGTERM ends it with exit code 0 within 10 s" stops_cleanly unit
    docker rm unit >/dev/null

    docker run -d --name purged --network none parley-installed sleep infinity >/dev/null
    docker exec purged install -D -o parley -m 0600 /etc/hostname /var/lib/parley/nats/data
    docker exec -e DEBIAN_FRONTEND=noninteractive purged \
        apt-get purge -qq --autoremove parley-gateway >"$work/apt.log" 2>&1 ||
        die "apt-get purge failed: $(tail -n 20 "$work/apt.log")"
    check "purged, it leaves no file and no user" is_as_before purged
    docker rm -f purged >/dev/null
    docker volume rm state >/dev/null
}

is_as_before() { # CONTAINER
    diff "$work/names.before" <(names_in "$1")
}
