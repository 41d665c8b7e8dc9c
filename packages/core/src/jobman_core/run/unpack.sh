# Unpacks shipped code afresh on one host. Run by bash, with: the archive's SHA-256, the folder below
# HOME, the limit in seconds.
#
# Exit codes of its own: 92 there is no such archive here (it prints how many bytes of it are), 93 the
# folder is refused, 94 the archive is damaged (and was removed), 124 the limit has passed, else 1.
set -u
snapshot=$1 folder=$2 limit=$3
deadline=$((SECONDS + limit))
exec </dev/null

check_folder

cd -- "$HOME" && mkdir -p .jobman || exit 1
archive=.jobman/code/$snapshot.tar.gz
if [ ! -f "$archive" ]; then
    stat -c %s -- ".jobman/code/$snapshot.part" 2>/dev/null || echo 0
    exit 92
fi
# The newest used are kept.
touch -- "$archive"

# An older one that still runs, of a controller that is gone, must not put its folder in place later:
# it finds its own gone.
turn .jobman/ship.lock
for old in .jobman/ship.d.??????; do
    [ -d "$old" ] && mv -- "$old" "$old.old" 2>/dev/null
done
for old in .jobman/ship.d.*.old; do remove "$old" 2>/dev/null; done
new=$(mktemp -d .jobman/ship.d.XXXXXX) && mkdir -- "$new/code" || exit 1
trap 'cd -- "$HOME" && remove "$new"' EXIT
exec 4>&-

still_ours() {
    [ ! -d "$new/code" ] || return 0
    echo "a newer attempt has begun" >&2
    exit 1
}

left=$((deadline - SECONDS))
[ "$left" -gt 0 ] || exit 124
timeout -k 5 "$left" tar -xzpf "$archive" --no-same-owner -C "$new/code"
code=$?
[ "$code" -ne 124 ] || exit 124
if [ "$code" -ne 0 ]; then
    still_ours
    # A full disk, say, does no harm to the archive.
    printf '%s  %s\n' "$snapshot" "$archive" | sha256sum --check --status && exit 1
    rm -f -- "$archive"
    exit 94
fi

turn .jobman/ship.lock
still_ours
put_in_place "$new/code" || exit 1
