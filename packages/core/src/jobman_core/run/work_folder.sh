# Comes before the scripts that put code into a work folder: what they share. They set `folder`, below
# HOME, and `deadline`, in SECONDS.

check_folder() { # ends with 93 where it is refused
    while [[ $folder == */ ]]; do folder=${folder%/}; done
    case /$folder/ in
    *//* | */../* | */./*)
        echo "'$folder' is not a plain relative path" >&2
        exit 93
        ;;
    esac
}

remove() {
    # A link is removed as a link. Folders may have been made read-only by what ran in them. What is
    # mounted there, a bucket say, is never touched.
    [ -e "$1" ] || [ -L "$1" ] || return 0
    # Of what is itself a mount, rm would take all that is in it: a bucket's objects.
    if [ ! -L "$1" ] && mountpoint -q -- "$1"; then
        echo "something is mounted at ~/$1: choose another workdir" >&2
        return 1
    fi
    rm -rf --one-file-system -- "$1" 2>/dev/null && return
    # No name is an option, or part of an expression.
    [[ $1 == /* ]] || set -- "./$1"
    find "$1" -xdev -type d -exec chmod u+rwx -- {} + 2>/dev/null
    rm -rf --one-file-system -- "$1"
}

turn() { # LOCK: one at a time makes its folder, or puts it in place
    local left=$((deadline - SECONDS))
    exec 4>"$1" || exit 1
    [ "$left" -gt 0 ] && flock -w "$left" 4 || exit 124
}

put_in_place() { # FROM: what was in the work folder is removed
    local parent=.
    [[ $folder != */* ]] || parent=${folder%/*}
    mkdir -p -- "$parent" && remove "$folder" && mv -T -- "$1" "$folder"
}
