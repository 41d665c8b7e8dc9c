# What the scripts of the storage gcsfuse on a host have in common; it stands in front of each.
#
# Whoever touches a mount whose server hangs may hang as well, beyond the reach of any signal. So
# what is mounted is asked of the kernel's list alone, and mounts are touched by `soon` only.
set -uo pipefail
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

fail() {
    printf 'gcsfuse: %s\n' "$*" >&2
    exit 1
}

later() { # what fails now and passes (EX_TEMPFAIL)
    printf 'gcsfuse: %s\n' "$*" >&2
    exit 75
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo -n -- "$@"; fi
}

soon() { # SECONDS COMMAND…: sets said to its first line; empty as well where it takes longer
    said=
    # What hangs keeps nothing open that others wait for the end of.
    read -r -t "$1" said < <(exec 2>&1 < /dev/null && "${@:2}") || true
}

locate() { # PATH: sets place, absolute, with no link but perhaps the last part
    local path=$1
    case $path in
        /*) ;;
        '~/'*) path=$HOME/${path#'~/'} ;;
        *) path=$HOME/$path ;;
    esac
    # Without the last part: what is mounted there may hang.
    path=${path%"${path##*[!/]}"}
    soon 3 realpath -m -- "${path%/*}/"
    [[ $said == /* ]] || fail "the folder above $path does not answer: take another mount_path"
    place=${said%/}/${path##*/}
}

find_mount() { # PLACE: sets kind and source of what is mounted there last; empty: nothing
    local target rest
    kind='' source=''
    while read -r _ _ _ _ target rest; do
        # Spaces and the like stand there in octal.
        printf -v target %b "$target"
        [[ $target == "$1" ]] || continue
        read -r kind source _ <<< "${rest#* - }"
        printf -v source %b "$source"
    done < /proc/self/mountinfo
}

touch_mount() {
    # The first goes through to the server each time; the second is refused to other users.
    stat -f -- "$1" > /dev/null && stat -- "$1" > /dev/null && echo answers
}

look() { # BUCKET PLACE: sets state to none, fine, other, closed or dead, and why
    state=none why=
    find_mount "$2"
    [[ -n $kind ]] || return 0
    if [[ $kind == fuse* ]]; then
        soon 3 touch_mount "$2"
        case $said in
            answers) ;;
            *'Permission denied'*) state=closed ;;
            '') state=dead why='it does not answer' ;;
            *) state=dead why=${said##*: } ;;
        esac
    fi
    if [[ $state != dead && $source != "$1" ]]; then
        state=other
    elif [[ $state == none ]]; then
        state=fine
    fi
}

let_go() { # PLACE [force]: unmounts; what is in use, or hangs, is at least out of sight
    local way ways=('fusermount3 -u' 'fusermount -u' 'as_root umount -c'
        'fusermount3 -u -z' 'fusermount -u -z' 'as_root umount -c -l')
    # By force, whoever hangs in it is told that it is gone.
    [[ -z ${2-} ]] || ways=('as_root umount -c -f' "${ways[@]}")
    for way in "${ways[@]}"; do
        find_mount "$1"
        [[ -n $kind ]] || return 0
        # shellcheck disable=SC2086 # a way is words
        soon 20 $way -- "$1"
    done
    find_mount "$1"
    [[ -z $kind ]]
}
