# Stands before all others.

as_root() { # as oneself where sudo wants a password
    if [ -z "${root-}" ]; then
        root=env
        if [ "$(id -u)" != 0 ] && sudo -n true 2> /dev/null; then root='sudo -n'; fi
    fi
    $root "$@"
}

holders() { # PATTERN…: the processes that hold such files open
    local pattern
    as_root true
    for pattern; do
        as_root find /proc/[0-9]*/fd -maxdepth 1 -lname "$pattern" 2> /dev/null
    done | sed 's|^/proc/\([0-9]*\)/.*|\1|' | sort -un
}

drop_lock() { # one that nobody holds
    [ -e "$JOBMAN_DEVICE_LOCK" ] && [ -z "$(holders "$JOBMAN_DEVICE_LOCK")" ] || return 0
    as_root rm -f "$JOBMAN_DEVICE_LOCK"
}

