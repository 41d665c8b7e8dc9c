check() {
    [ -e "$JOBMAN_DEVICE_LOCK" ] && [ -z "$(holders "$JOBMAN_DEVICE_LOCK")" ] || return 0
    echo "$JOBMAN_DEVICE_LOCK was left by a program of $(stat -c %U "$JOBMAN_DEVICE_LOCK") and is" \
        "held by nobody"
    return 1
}

mend() {
    drop_lock
}
