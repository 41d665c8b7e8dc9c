# install.sh HOW: installs gcsfuse where it is missing; HOW is apt, or never.
#
# As https://cloud.google.com/storage/docs/cloud-storage-fuse/install has it. The lock of dpkg is
# waited for: at boot, unattended upgrades hold it for minutes.
KEY=/usr/share/keyrings/cloud.google.asc
LIST=/etc/apt/sources.list.d/gcsfuse.list
REPOSITORY=https://packages.cloud.google.com/apt
#: What apt, dpkg and curl say of what passes by itself.
PASSES='Could not get lock|Unable to (acquire|lock)|is another process using it|Temporary failure'
PASSES+='|Failed to fetch|Could not (connect|resolve)|[Tt]imed out|Hash Sum mismatch|Connection'
PASSES+='|50[0-9] +[A-Z]|429 +Too Many|unexpected size|reset by peer'

command -v gcsfuse > /dev/null && exit 0
[[ $1 == apt ]] || fail 'it is not installed on this machine: install it (https://cloud.google.com/storage/docs/cloud-storage-fuse/install)'
command -v apt-get > /dev/null ||
    fail 'it is not installed, and there is no apt-get: install it in tpu.startup_script'
as_root true || fail 'it is not installed, and sudo is refused: install it in tpu.startup_script'
heard=$(mktemp) || fail 'no temporary file can be made: is the disk of the host full?'
trap 'rm -f "$heard" "$heard.key"' EXIT

attempt() { # WHAT COMMAND…
    "${@:2}" < /dev/null 2>&1 | tee "$heard" && return
    if grep -qE "$PASSES" "$heard"; then later "$1: $(grep -m1 -E "$PASSES" "$heard")"; fi
    if grep -q 'dpkg was interrupted' "$heard"; then
        fail "$1: dpkg was interrupted: run \`sudo dpkg --configure -a\` on the host"
    fi
    fail "$1: $(grep -m1 -E '^E: |^curl: ' "$heard" || tail -n 1 "$heard")"
}

apt() {
    attempt "apt-get $1" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"
}

# shellcheck disable=SC1091 # the host's own
VERSION_CODENAME=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ -n $VERSION_CODENAME ]] || fail '/etc/os-release has no VERSION_CODENAME: install it by hand'
if ! command -v curl > /dev/null; then
    apt update
    apt install curl ca-certificates
fi
attempt "the key of $REPOSITORY" curl --fail --silent --show-error --location --retry 3 \
    --max-time 60 --output "$heard.key" "$REPOSITORY/doc/apt-key.gpg"
as_root install -m 0644 "$heard.key" "$KEY" || fail "cannot write $KEY"
echo "deb [signed-by=$KEY] $REPOSITORY gcsfuse-$VERSION_CODENAME main" |
    as_root tee "$LIST" > /dev/null || fail "cannot write $LIST"
apt update
apt install gcsfuse
command -v gcsfuse > /dev/null || fail 'apt-get installed it, but it is not on PATH'
