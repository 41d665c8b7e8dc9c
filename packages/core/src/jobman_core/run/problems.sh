# Runs some scripts on one host: checks, or remedies. Read by bash, with arguments
#
#   NONCE COUNT LIMIT ORDER PATIENCE
#
# and the scripts on standard input behind this one, each ended by a NUL. All run at once where
# ORDER is `together`, each with LIMIT seconds; where it is `in-turn`, one after the other, in as many
# seconds for all of them. Such ones that somebody else began, and a lost link left at work, are
# waited for first, for PATIENCE seconds. Says NONCE, then of each script how it ended and what it
# said, then NONCE, each ended by a NUL. Needs no room on any disk, which may be full.
nonce=$1 count=$2 limit=$3 order=$4 patience=$5
# Words that people can look up; what characters are stays as it is.
unset LC_ALL LANGUAGE
export LC_MESSAGES=C
mapfile -t -d '' -n "$count" scripts

begin() { # SCRIPT: sets from
    local left=$((deadline - SECONDS))
    [ "$left" -gt 0 ] || left=1
    exec {from}< <(
        timeout -k 1 "$left" bash <(printf '%s\n' "$1") < /dev/null 2>&1 9>&-
        # What it leaves behind may hold the pipe open, for ever.
        printf '\0%s\0' $?
    )
}

hear() { # FROM: what it said, as far as it came in time
    local from=$1 said='' code='' left=$((deadline - SECONDS + 2))
    [ "$left" -gt 0 ] || left=1
    IFS= read -r -d '' -t "$left" -u "$from" said && IFS= read -r -d '' -t 1 -u "$from" code
    exec {from}<&-
    # The end of it says most.
    [ ${#said} -le 4000 ] || said=${said: -4000}
    printf '%s\0%s\0' "$code" "$said"
}

# On a full disk there may be no such file, which is to keep nobody from mending it.
lock=.jobman/problems.lock
if [ "$order" = in-turn ]; then
    { mkdir -p .jobman && exec 9> $lock && flock -w "$patience" 9; } 2> /dev/null
elif [ -e $lock ]; then
    flock -s -w "$patience" $lock true
fi
deadline=$((SECONDS + limit))
printf '\n%s\0' "$nonce"
pipes=()
for script in "${scripts[@]}"; do
    begin "$script"
    if [ "$order" = together ]; then
        pipes+=("$from")
    else
        hear "$from"
    fi
done
for from in "${pipes[@]}"; do
    hear "$from"
done
printf '%s\0' "$nonce"
