set -f
# Patterns without spaces, for find to read.
devices=($JOBMAN_DEVICES)
set +f

is_live() { # PID: it belongs to an attempt that runs
    local token leader
    for token in $JOBMAN_LIVE; do
        as_root grep -qsz "^JOBMAN_ATTEMPT_TOKEN=$token\(\.\|\$\)" "/proc/$1/environ" && return
        read -r leader _ 2> /dev/null < "$HOME/.jobman/attempts/$token/pid" &&
            grep -qsE "^NSsid:[[:space:]]+$leader([[:space:]]|\$)" "/proc/$1/status" && return
    done
    return 1
}

leftovers() {
    local pid
    for pid in $(holders "${devices[@]}"); do
        is_live "$pid" || echo "$pid"
    done
}

check() {
    local pid found=0
    for pid in $(leftovers); do
        found=1
        echo "process $pid of $(stat -c %U "/proc/$pid") holds the accelerator:" \
            "$(tr '\0' ' ' < "/proc/$pid/cmdline" | head -c 80)"
    done 2> /dev/null
    return $found
}

mend() {
    local signal tries
    for signal in TERM KILL; do
        as_root kill -$signal $(leftovers) 2> /dev/null
        for tries in {1..30}; do
            if [ -z "$(leftovers)" ]; then
                drop_lock
                return
            fi
            sleep 0.1
        done
    done
    check
}
