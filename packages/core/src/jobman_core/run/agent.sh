#!/bin/sh
# jobman's agent: keeps attempts on one host.
#
# Copied to ~/.jobman/agent-<hash> and called as
#
#   launch NONCE TOKEN BOOT_FILE OWN EPOCH CWD DEVICES LOCK_FILE SIZES… STAYS -- ENDER…
#          (content on stdin; with STAYS 1 no later launch ends what the program leaves behind)
#   poll   NONCE TOKEN BOOT_FILE OWN OFFSET MOST WAIT QUIET IDLE
#   end    NONCE TOKEN BOOT_FILE OWN EPOCH GRACE -- ENDER…
#
# An answer is an empty line, then "NONCE WORD FIELD…", then, for poll, so many raw bytes: noise of
# login files before it, and any output after it, cannot be taken for something else. OWN is 1 on a
# machine that is the slice's alone. WAIT, QUIET, IDLE and GRACE are milliseconds.
#
# An attempt is the folder ~/.jobman/attempts/TOKEN:
#   script env argv stdin  what to run; env and argv are separated by NUL, so values are only data
#   alive    locked by the wrapper, and by nobody below it, as long as the program runs
#   pid      of the program, which leads a session: "PID START BOOT"
#   wrapper  of the process that waits for it: "PID START"
#   log      the program's output
#   final    "DONE CODE" or "ENDED -": made by ln, so the first word is the last
#   tomb     "ENDED -", to become "final" when an end is ordered
#   stays    what is left once the program has ended is there to stay
#   stranger it was ended without a trace of ever having been started here
#   gone     nothing of it lives any more: proof
#   mark     in the environment of all that it starts on this host
#   keeper   the name of what keeps its tree of processes, for ENDER

# -- the program's own process ----------------------------------------------------------------
# Run by bash, before any variable is set: what the user's environment brings must meet none.
# _start FOLDER BOOT UMASK CWD; descriptor 9 is the attempt's lock, which only the wrapper keeps.
if [ "$1" = _start ]; then
    # Here and not around this process: the wrapper's shell would write "Killed" into the log.
    cd "$2" && exec < stdin >> log 2>&1 || exit 126
    read -r _jobman_stat < "/proc/$$/stat"
    set -- "$@" ${_jobman_stat##*) }
    # Field 22 of the stat line; state is its field 3 and stands sixth here.
    printf '%s %s %s\n' $$ "${25}" "$3" > pid.new && mv -f pid.new pid || exit 126
    # Ended before it began: whoever orders an end writes "final" first and then looks for "pid".
    [ -e final ] && exit 143
    exec 9>&-
    umask "$4"
    unset JOBMAN_KEEPER OLDPWD
    case $5 in
        '') cd ;;
        *) cd "$HOME/$5" || exit 127 ;;
    esac
    set -- "$2"
    while IFS= read -r -d '' _jobman_item; do
        [ "$_jobman_item" = '{script}' ] && _jobman_item=$1/script
        set -- "$@" "$_jobman_item"
    done < "$1/argv"
    while IFS= read -r -d '' _jobman_item; do
        export "$_jobman_item"
    done < "$1/env" 2> /dev/null
    IFS= read -r JOBMAN_ATTEMPT_TOKEN < "$1/mark"
    export JOBMAN_ATTEMPT_TOKEN
    shift
    exec -- "$@"
fi

set -u
mask=$(umask)
umask 077
base=$HOME/.jobman
verb=$1
nonce=$2
token=$3
bootfile=$4
own=$5
here=$base/attempts/$token
shift 5

answer() {
    printf '\n%s %s\n' "$nonce" "$*"
}

fail() { # KIND TEXT
    answer error "$@"
    exit 0
}

read_boot() {
    read -r boot < /proc/sys/kernel/random/boot_id
    if [ "$bootfile" != /proc/sys/kernel/random/boot_id ]; then
        # Emulated machines share a kernel; a real one's restart shows in both.
        read -r _other < "$bootfile" || fail refused "cannot read $bootfile"
        boot=$boot+$_other
    fi
}

start_of() { # PID: sets start, empty if there is no such process
    start=
    [ -r "/proc/$1/stat" ] && read -r _line < "/proc/$1/stat" || return 1
    # shellcheck disable=SC2086 # fields are words
    set -- ${_line##*) }
    start=${20}
}

seconds() { # MILLISECONDS: sets seconds, as flock and sleep want them
    _rest=00$(($1 % 1000))
    seconds=$(($1 / 1000)).${_rest#"${_rest%???}"}
}

# -- what lives ---------------------------------------------------------------------------------

members() { # FOLDER: lists the living processes of its attempt that can be told from outside
    {
        if [ -r "$1/mark" ] && IFS= read -r _mark < "$1/mark"; then
            LC_ALL=C grep -lszxF "JOBMAN_ATTEMPT_TOKEN=$_mark" /proc/[0-9]*/environ
        fi
        if [ -r "$1/pid" ] && read -r _pid _start _boot < "$1/pid" && [ "$_boot" = "$boot" ]; then
            # Where others have processes too, only a session whose leader is known is surely ours.
            start_of "$_pid" || :
            if [ "$start" = "$_start" ] || { [ "$own" = 1 ] && [ -z "$start" ]; }; then
                LC_ALL=C grep -lsE "^NSsid:[[:space:]]+$_pid([[:space:]]|\$)" /proc/[0-9]*/status
            fi
        fi
    } | sed 's|^/proc/\([0-9]*\)/.*|/proc/\1/status|' | sort -u |
        LC_ALL=C xargs -r grep -LsE '^State:[[:space:]]+[ZX]' | sed 's|^/proc/\([0-9]*\)/.*|\1|'
}

locked() { # FOLDER: its wrapper lives
    [ -r "$1/alive" ] || return 1
    exec 8< "$1/alive"
    if flock -n -s 8; then
        exec 8<&-
        return 1
    fi
    exec 8<&-
}

read_final() {
    [ -r "$here/final" ] && read -r state code < "$here/final"
}

look() { # sets state and code
    state=NONE
    code=-
    if read_final; then
        [ "$state" = ENDED ] && [ ! -e "$here/gone" ] || return 0
        # An end was ordered and is not yet confirmed.
        if locked "$here" || [ -n "$(members "$here")" ]; then state=ENDING; fi
    elif locked "$here"; then
        if [ -e "$here/pid" ]; then state=RUNNING; else state=LAUNCHING; fi
    elif read_final; then
        : # it ended between two looks
    elif [ -e "$here/pid" ]; then
        # The wrapper is gone and wrote nothing: nobody will ever know the exit status.
        if [ -n "$(members "$here")" ]; then state=RUNNING; else state=LOST; fi
    fi
}

# -- ending -------------------------------------------------------------------------------------

end_members() { # FOLDER GRACE: TERM, KILL until two passes find nothing; sets left
    # shellcheck disable=SC2046 # pids are words
    set -- "$1" "$2" $(members "$1")
    if [ $# -gt 2 ]; then
        _folder=$1
        _ticks=$(($2 / 100))
        shift 2
        kill -TERM "$@" 2> /dev/null
        kill -CONT "$@" 2> /dev/null
        while [ $_ticks -gt 0 ] && [ -n "$(members "$_folder")" ]; do
            sleep 0.1
            _ticks=$((_ticks - 1))
        done
        set -- "$_folder" 0
    fi
    _clean=0
    _tries=0
    _folder=$1
    left=0
    while [ $_clean -lt 2 ] && [ $_tries -lt 60 ]; do
        _tries=$((_tries + 1))
        # shellcheck disable=SC2046
        set -- $(members "$_folder")
        left=$#
        if [ $# -eq 0 ]; then
            _clean=$((_clean + 1))
        else
            _clean=0
            kill -STOP "$@" 2> /dev/null
            kill -KILL "$@" 2> /dev/null
            sleep 0.05
        fi
    done
}

end_wrapper() { # FOLDER: it leaves when the program has; one that hangs is killed
    if locked "$1"; then
        exec 8< "$1/alive"
        if ! flock -s -w 2 8 && read -r _pid _start < "$1/wrapper" 2> /dev/null; then
            start_of "$_pid" && [ "$start" = "$_start" ] && kill -KILL "$_pid"
            flock -s -w 2 8 || left=$((left + 1))
        fi
        exec 8<&-
    fi
}

tombstone() { # FOLDER: no later launch, and no later word on how it ended
    # What was launched here has its room for it already: the disk may be full by now.
    if [ ! -s "$1/tomb" ]; then
        mkdir -p "$1" && printf 'ENDED -\n' > "$1/tomb.$$" && mv -f "$1/tomb.$$" "$1/tomb" || return 1
    fi
    ln "$1/tomb" "$1/final" 2> /dev/null
    [ -e "$1/final" ]
}

finish() { # FOLDER GRACE ENDER…: ends all that lives of an attempt; sets left
    _at=$1
    _grace=$2
    shift 2
    left=0
    _n=0
    # Between the lock and the pid there is only an instant.
    while [ ! -e "$_at/pid" ] && locked "$_at" && [ $_n -lt 100 ]; do
        sleep 0.05
        _n=$((_n + 1))
    done
    _kept=0
    _name=
    [ -r "$_at/keeper" ] && read -r _name < "$_at/keeper"
    if [ $# -gt 0 ] && [ -n "$_name" ]; then
        seconds "$_grace"
        _kept=$("$@" "$_name" "$seconds") || _kept=1
    fi
    if [ -e "$_at/pid" ] || [ -e "$_at/alive" ]; then
        end_members "$_at" "$_grace"
        end_wrapper "$_at"
    fi
    left=$((left + _kept))
    [ $left -gt 0 ] || true > "$_at/gone"
}

as_root() {
    if [ "$(id -u)" != 0 ] && command -v sudo > /dev/null 2>&1; then
        sudo -n "$@"
    else
        "$@"
    fi
}

holders() { # PATTERN…: lists the processes that hold such files open
    for _pattern; do
        as_root find /proc/[0-9]*/fd -maxdepth 1 -lname "$_pattern" 2> /dev/null
    done | sed 's|^/proc/\([0-9]*\)/.*|\1|' | sort -u
}

free_devices() { # LOCK_FILE PATTERN…
    _file=$1
    shift
    _n=0
    while [ $_n -lt 100 ]; do
        _who=$(holders "$@")
        [ -n "$_who" ] || break
        # shellcheck disable=SC2086 # pids are words
        as_root kill -KILL $_who 2> /dev/null
        sleep 0.1
        _n=$((_n + 1))
    done
    [ -z "$_who" ] || fail refused "processes $(echo $_who) hold the accelerator and cannot be ended"
    if [ -e "$_file" ] && [ -z "$(holders "$_file")" ]; then
        as_root rm -f "$_file" || fail refused "cannot remove the stale lock file $_file"
    fi
}

# -- verbs --------------------------------------------------------------------------------------

lock_host() {
    # A failed exec would end this shell without an answer.
    mkdir -p "$base/attempts" && true > "$base/lock" ||
        fail refused "cannot write below $base: is the disk of the host full?"
    exec 7> "$base/lock"
    flock -w 40 7 || fail refused "another launch on this host takes too long"
}

check_epoch() { # EPOCH
    _seen=0
    [ -r "$base/epoch" ] && read -r _seen < "$base/epoch"
    case $_seen in '' | *[!0-9]*) _seen=0 ;; esac
    [ "$1" -ge "$_seen" ] || fail stale "epoch $_seen was seen here, this order has $1"
    if [ "$1" -gt "$_seen" ]; then
        # In place: the disk may be full by now, and no number gets shorter.
        printf '%s\n' "$1" 1<> "$base/epoch" ||
            fail refused "cannot write below $base: is the disk of the host full?"
    fi
}

receive() { # NAME SIZE
    head -c "$2" > "$here/$1" && [ "$(stat -c %s "$here/$1")" = "$2" ] && return
    rm -rf "$here"
    fail refused "cannot write $here/$1: is the disk of the host full?"
}

clear_old() { # ENDER…: ends what other attempts left, and forgets all but the last few
    for _old in "$base/attempts"/*; do
        if [ -e "$_old/stays" ] && grep -qs ^DONE "$_old/final"; then continue; fi
        if [ "$_old" != "$here" ] && [ -d "$_old" ] && [ ! -e "$_old/gone" ]; then
            tombstone "$_old"
            finish "$_old" 2000 "$@"
            [ $left -eq 0 ] || fail refused "$left processes of attempt ${_old##*/} cannot be ended"
        fi
    done
    _n=0
    # shellcheck disable=SC2012 # the names are ours: letters, digits, '-', '_' and '.'
    ls -1t "$base/attempts" | while read -r _old; do
        _n=$((_n + 1))
        [ $_n -le 5 ] || rm -rf "$base/attempts/$_old"
    done
}

launch() { # EPOCH CWD DEVICES LOCK_FILE SCRIPT ENV ARGV STDIN STAYS -- ENDER…
    lock_host
    check_epoch "$1"
    look
    case $state in
        NONE) ;;
        ENDED | ENDING) fail refused "attempt $token was ended on order and is not started again" ;;
        *)
            answer launched "$state"
            exit 0
            ;;
    esac
    _cwd=$2 _devices=$3 _lockfile=$4 _script=$5 _env=$6 _argv=$7 _stdin=$8 _stays=$9
    shift 10
    clear_old "$@"
    set -f
    # shellcheck disable=SC2086 # patterns without spaces, for find to read
    set -- $_devices
    set +f
    [ "$own" = 0 ] || free_devices "$_lockfile" "$@"
    mkdir -p "$here"
    receive script "$_script"
    receive env "$_env"
    receive argv "$_argv"
    receive stdin "$_stdin"
    # Hosts may be folders of one machine: the mark tells the programs of one attempt apart.
    # The record of the end has its room from the start: it must fit on a disk that is full then.
    printf '%s.%s\n' "$token" "$(stat -c %d.%i "$here")" > "$here/mark" &&
        printf 'ENDED -\n' > "$here/tomb" &&
        printf '%-31s\n' ' ' > "$here/result" && printf '%s\n' "${JOBMAN_KEEPER-}" > "$here/keeper" &&
        { [ "$_stays" = 0 ] || true > "$here/stays"; } &&
        true > "$here/log" && true > "$here/alive" || {
        rm -rf "$here"
        fail refused "cannot write $here: is the disk of the host full?"
    }
    exec 9> "$here/alive"
    flock 9
    # Not with '&', which would let the program ignore SIGINT and SIGQUIT.
    setsid -f sh "$0" _keep - "$token" "$bootfile" "$own" "$mask" "$_cwd" \
        < /dev/null > /dev/null 2>&1 7>&-
    answer launched NEW
}

keep() { # UMASK CWD: the wrapper, which holds descriptor 9 and writes the record
    start_of $$
    printf '%s %s\n' $$ "$start" > "$here/wrapper"
    setsid bash "$0" _start "$here" "$boot" "$1" "$2"
    code=$?
    # In place: no room is needed. The record stays aside until it is whole.
    printf 'DONE %s' "$code" 1<> "$here/result"
    until ln "$here/result" "$here/final" 2> /dev/null || [ -e "$here/final" ]; do
        [ -d "$here" ] || exit 0
        sleep 5
    done
}

measure() { # sets size and fresh
    size=$(stat -c %s "$here/log" 2> /dev/null) || size=0
    fresh=$((size - offset))
}

wait_for_change() { # MILLISECONDS: returns 0 at once when the wrapper ends
    seconds "$1"
    [ -r "$here/alive" ] || return 0
    exec 8< "$here/alive"
    flock -s -w "$seconds" 8
    _changed=$?
    exec 8<&-
    return $_changed
}

poll() { # OFFSET MOST WAIT QUIET IDLE: looks after QUIET, then ever more slowly up to IDLE
    offset=$1
    most=$2
    wait=$3
    quiet=$4
    idle=$5
    [ "$quiet" -ge 50 ] || quiet=50
    waited=0
    look
    measure
    while [ $waited -lt "$wait" ] && [ $fresh -lt "$most" ]; do
        case $state in RUNNING | LAUNCHING | ENDING) ;; *) break ;; esac
        # What has just come waits for more; what was there at the last look does not.
        [ $fresh -le 0 ] || [ $waited -eq 0 ] || break
        tick=$quiet
        [ $state != LAUNCHING ] || tick=50
        [ $tick -le $((wait - waited)) ] || tick=$((wait - waited))
        if wait_for_change $tick; then
            look
            # Its wrapper was killed: there is no lock to wait for.
            case $state in RUNNING | ENDING) sleep "$seconds" ;; esac
        elif [ $state = LAUNCHING ]; then
            look
        fi
        waited=$((waited + tick))
        quiet=$((quiet * 3 / 2))
        [ $quiet -le "$idle" ] || quiet=$idle
        measure
    done
    look
    measure
    [ $fresh -gt 0 ] || fresh=0
    [ $fresh -le "$most" ] || fresh=$most
    answer state "$state" "$code" "$size" "$offset" "$fresh"
    if [ $fresh -gt 0 ]; then
        tail -c "+$((offset + 1))" "$here/log" | head -c "$fresh"
    fi
}

end() { # EPOCH GRACE -- ENDER…
    lock_host
    check_epoch "$1"
    _known=1
    [ -d "$here" ] || _known=0
    tombstone "$here" || fail refused "cannot write $here: is the disk of the host full?"
    # That it was a stranger stays known, whoever asks next.
    [ $_known = 1 ] || true > "$here/stranger"
    [ ! -e "$here/stranger" ] || _known=0
    exec 7>&-
    _wanted=$2
    shift 3
    finish "$here" "$_wanted" "$@"
    look
    answer ended "$state" "$left" "$_known"
}

case $token in
    '' | .* | *[!A-Za-z0-9._-]*) fail refused "no token for an attempt: '$token'" ;;
esac
read_boot
case $verb in
    launch) launch "$@" ;;
    poll) poll "$@" ;;
    end) end "$@" ;;
    _keep) keep "$@" ;;
    *) fail refused "unknown order $verb" ;;
esac
