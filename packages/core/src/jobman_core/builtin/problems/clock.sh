check() {
    local now ahead way=ahead
    printf -v now '%(%s)T' -1
    # Not what has passed here since the question.
    ahead=$((now - JOBMAN_NOW - SECONDS))
    [ "${ahead#-}" -gt 5 ] || return 0
    [ "$ahead" -gt 0 ] || way=behind
    echo "its clock is ${ahead#-} s $way, by that of the machine that jobman runs on"
    return 1
}

mend() {
    # Not by the other machine's clock, which may be the one that is wrong.
    local service tries
    for service in chrony chronyd systemd-timesyncd ntpsec ntp; do
        systemctl cat "$service" > /dev/null 2>&1 || continue
        as_root systemctl restart "$service" || return
        for tries in {1..20}; do
            ! check > /dev/null || break
            sleep 0.5
        done
        return 0
    done
    echo "no service keeps the time there: install chrony"
    return 1
}
