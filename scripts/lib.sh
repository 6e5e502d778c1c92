# shellcheck shell=bash
# What the scripts share: output, packages, quiet builds. It is sourced, after `set -euo pipefail`,
# and works on Debian and its derivatives; elsewhere it only names the missing packages.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Of a service or a bare container it may be unset.
export HOME=${HOME:-$(getent passwd "$EUID" | cut -d: -f6)}
# The owner of the checkout may be another than who runs this (sudo, containers).
git_settings=${GIT_CONFIG_COUNT:-0}
export GIT_CONFIG_COUNT=$((git_settings + 1)) \
    "GIT_CONFIG_KEY_$git_settings=safe.directory" "GIT_CONFIG_VALUE_$git_settings=*"
# shellcheck disable=SC2034 # here and below: used by those who source this
jobs=$(nproc 2>/dev/null || echo 2)

bold='' red='' green='' plain=''
# shellcheck disable=SC2034
if [[ -t 1 && -z ${NO_COLOR-} && ${TERM-dumb} != dumb ]]; then
    bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
fi

say() { printf '%s\n' "${bold}==>${plain} $*"; }
warn() { printf '%s\n' "${red}==>${plain} $*" >&2; }
die() {
    warn "$@"
    exit 1
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo "$@"
    fi
}

# --- packages ---

# A name may be several, of which the first that the release has is taken.
# shellcheck disable=SC2034
build_packages=(gcc libc6-dev make cmake pkg-config
    libmicrohttpd-dev libjansson-dev libnats-dev libsodium-dev libssl-dev
    'libmsgpack-c-dev|libmsgpack-dev' libcmark-dev libyaml-dev libzstd-dev zlib1g-dev
    libcurl4-openssl-dev libsqlite3-dev)
# shellcheck disable=SC2034
run_packages=(nats-server)

is_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

is_installed() { # PACKAGE (once a foreign architecture has it too, the state is printed twice)
    local name
    for name in ${1//|/ }; do
        if [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) =~ ^(installed)+$ ]]; then
            return 0
        fi
    done
    return 1
}

# Of the names of each package the first that apt knows, else the last.
names_in_release() { # PACKAGE…
    local package name
    for package; do
        for name in ${package//|/ }; do
            ! apt-cache show "$name" >/dev/null 2>&1 || break
        done
        printf '%s\n' "$name"
    done
}

# Whether what a Debian package would bring is here already, on a system of another family.
is_provided() { # PACKAGE
    case $1 in
    libmicrohttpd-dev) pkg-config --exists libmicrohttpd ;;
    libjansson-dev) pkg-config --exists jansson ;;
    libnats-dev) pkg-config --exists libnats ;;
    libsodium-dev) pkg-config --exists libsodium ;;
    libssl-dev) pkg-config --exists libssl libcrypto ;;
    *libmsgpack-dev) pkg-config --exists msgpack || pkg-config --exists msgpack-c ;;
    libcmark-dev) pkg-config --exists libcmark ;;
    libyaml-dev) pkg-config --exists yaml-0.1 ;;
    libzstd-dev) pkg-config --exists libzstd ;;
    libcurl4-openssl-dev) pkg-config --exists libcurl ;;
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    zlib1g-dev) pkg-config --exists zlib ;;
    libcmocka-dev) pkg-config --exists cmocka ;;
    *clang-format) command -v clang-format-14 || command -v clang-format ;;
    gcc | libc6-dev) command -v cc ;;
    nodejs) command -v node ;;
    fonts-dejavu-core) fc-list | grep -qi dejavu ;;
    python3-msgpack) python3 -c "import msgpack" ;;
    libclang-rt-dev | llvm) command -v clang ;;
    docker.io) command -v dockerd ;;
    groff-base) command -v groff ;;
    systemd) command -v systemd-analyze ;;
    dpkg-dev) command -v dpkg-shlibdeps ;;
    iproute2) command -v ip ;;
    libnginx-mod-nchan) "$root/bench/peers/nchan/serve" --check ;;
    nginx) PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nginx ;;
    prometheus) command -v promtool ;;
    nats-server) PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nats-server ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# Services that these packages would start and enable, of which we want the programs only.
units_of() { # PACKAGE…
    local package
    for package; do
        case $package in
        nats-server) echo nats-server.service ;;
        nginx) echo nginx.service ;;
        prometheus) echo prometheus.service ;;
        docker.io) printf '%s\n' docker.service docker.socket containerd.service ;;
        esac
    done
}

# Installs those that are missing, and says so first.
need_packages() { # PACKAGE…
    local package missing=()
    for package; do
        if is_debian; then
            is_installed "$package" || missing+=("$package")
        else
            is_provided "$package" || missing+=("$package")
        fi
    done
    ((${#missing[@]} == 0)) && return
    local names
    mapfile -t names < <(names_in_release "${missing[@]}")
    if ! is_debian; then
        die "This system has no apt-get, so install these yourself (Debian's names): ${names[*]}" \
            $'\n    Libraries are looked up with pkg-config. Or use the image: docker/README.md.'
    fi
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        die "Some packages are missing, and there is no sudo. As root, run:" \
            $'\n    apt-get install --no-install-recommends' "${names[*]}"
    fi
    say "Installing with apt-get: ${names[*]}"
    install_packages "${missing[@]}"
}

install_packages() { # PACKAGE…, all of them missing
    local log units
    log=$(mktemp -t parley-apt.XXXXXX)
    mapfile -t units < <(units_of "$@")
    # A runtime mask keeps the package from starting its service, and is gone after a reboot
    # whatever happens to us. Without systemd nothing would be started.
    if ((${#units[@]})) && [[ -d /run/systemd/system ]]; then
        as_root systemctl mask --runtime --quiet "${units[@]}" >/dev/null 2>&1 || true
    fi
    # Lists may be stale or absent; a failure may be of a repository that has nothing to do with us.
    update_lists "$log" ||
        warn "apt-get update failed (see $log); continuing with the existing package lists."
    local status=0 names
    mapfile -t names < <(names_in_release "$@") # once more: only now there are lists for certain
    say_size "${names[@]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends "${names[@]}" </dev/null >>"$log" 2>&1 || status=$?
    if ((${#units[@]})); then
        leave_disabled "${units[@]}"
    fi
    if ((status)); then
        tail -n 20 "$log" >&2
        die "apt-get could not install all packages (full log: $log). Try by hand:" \
            $'\n    apt-get update && apt-get install --no-install-recommends' "${names[*]}"
    fi
    rm -f "$log"
}

# As apt-get puts it: what it downloads, and what that takes on the disk.
say_size() { # PACKAGE…
    local line
    LC_ALL=C apt-get -q --assume-no --no-install-recommends install "$@" 2>/dev/null |
        grep -E '^(Need to get|After this operation)' |
        while IFS= read -r line; do printf '    %s\n' "$line"; done || true
}

# DPkg::Lock::Timeout is not for the lock of the lists, which a machine's own update may hold.
update_lists() { # LOG
    local tries
    for ((tries = 0; tries < 60; tries++)); do
        as_root env LC_ALL=C apt-get -q update >"$1" 2>&1 && return
        grep -q 'Could not get lock' "$1" || return 1
        sleep 5
    done
    return 1
}

# Where this machine's apt gets Debian's packages from: of its own release, not of others'.
debian_mirror() {
    local release
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    # shellcheck disable=SC2016 # apt's names
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
        awk -v release="$release" '$2 == release && $1 ~ /debian\/?$/ { print $1; exit }'
}

leave_disabled() { # UNIT…
    command -v systemctl >/dev/null || return 0
    as_root systemctl --quiet --now disable "$@" >/dev/null 2>&1 || true
    [[ -d /run/systemd/system ]] || return 0
    as_root systemctl unmask --runtime --quiet "$@" >/dev/null 2>&1 || true
    say "Their services are left stopped and disabled: $*"
}

# What a commit of all that lies here would hold: what git tracks, and what is new and not ignored.
source_files() { # [PATTERN…]: names from the root, each ended by NUL
    local file
    git -C "$root" ls-files -z --cached --others --exclude-standard -- "$@" |
        while IFS= read -r -d '' file; do
            [[ ! -e $root/$file ]] || printf '%s\0' "$file"
        done
}

# --- builds ---

# CMake reads it from the environment when it first configures.
! command -v ccache >/dev/null || export CMAKE_C_COMPILER_LAUNCHER=ccache

# Configures and builds. The compiler's output goes to build/PRESET.log, and is shown on failure.
build() { # PRESET [TARGET…]
    local preset=$1 log=$root/build/$1.log
    shift
    mkdir -p "$root/build"
    [[ -w $root/build ]] || die "$root/build belongs to another user: sudo rm -r '$root/build'"
    if ! (cd "$root" && cmake --preset "$preset") >"$log" 2>&1; then
        cat "$log" >&2
        warn "Configuring build/$preset failed (build/$preset.log)."
        return 1
    fi
    if ! (cd "$root" && cmake --build --preset "$preset" -j "$jobs" ${1+--target "$@"}) 2>&1 |
        tee -a "$log" | show_progress "Building build/$preset"; then
        cat "$log" >&2
        warn "Building build/$preset failed (build/$preset.log)."
        return 1
    fi
}

# One line that counts up on a terminal; elsewhere just the line.
show_progress() { # TEXT; make's output on standard input
    local line
    if [[ ! -t 1 ]]; then
        say "$1"
        cat >/dev/null
        return
    fi
    printf '%s' "${bold}==>${plain} $1"
    while IFS= read -r line; do
        [[ $line =~ ^\[\ *([0-9]+%)\] ]] && printf '\r%s' "${bold}==>${plain} $1 ${BASH_REMATCH[1]} "
    done
    printf '\n'
}
