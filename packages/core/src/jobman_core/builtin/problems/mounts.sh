points() { # the mount points of FUSE, a line each
    local where kind
    while read -r _ where kind _; do
        # A space in a name is \040 there.
        case $kind in fuse | fuse.*) printf '%b\n' "$where" ;; esac
    done < /proc/mounts
}

state() { # PATH: says what is wrong with it
    local said code
    said=$(timeout -k 1 3 stat -- "$1" 2>&1 > /dev/null)
    code=$?
    case $said in *'endpoint is not connected'*) echo "$1 is a dead mount: nobody serves it" ;; esac
    [ $code -lt 124 ] || echo "$1 is a mount that does not answer"
}

states() { # of all at once, since each may take its time
    local where
    while IFS= read -r where; do
        state "$where" &
    done < <(points)
    wait
}

check() {
    local wrong
    wrong=$(states)
    [ -n "$wrong" ] || return 0
    echo "$wrong"
    return 1
}

mend() {
    local where
    points | while IFS= read -r where; do
        [ -z "$(state "$where")" ] || as_root umount -l -- "$where" || exit
    done
}
