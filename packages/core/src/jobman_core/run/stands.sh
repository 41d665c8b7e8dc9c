# Says which steps of preparing a host stand there. Run by bash as an argument, in the home folder:
#
#   BOOT_ID_FILE LIMIT
#
# Standard input has, for each step, items that end with a NUL each: its key, the hash of its
# content, the number of arguments of its check, ARG…. Prints a line for each: "jobman-step stands",
# "failed" where it is passed over, "missing", or "gone" where its mark is there and its check, which
# gets LIMIT seconds, says no.
set -u
boot_file=$1 limit=$2
read -r boot < /proc/sys/kernel/random/boot_id
if [ "$boot_file" != /proc/sys/kernel/random/boot_id ]; then
    read -r other < "$boot_file" && boot=$boot+$other
fi
while IFS= read -r -d '' key && IFS= read -r -d '' content && IFS= read -r -d '' count; do
    check=()
    while [ "$count" -gt 0 ] && IFS= read -r -d '' argument; do
        check+=("$argument")
        count=$((count - 1))
    done
    state=missing marked=
    mark=.jobman/ready/$key
    [ ! -r "$mark" ] || read -r marked < "$mark"
    if [ "$marked" = "$content $boot failed" ]; then
        state=failed
    elif [ "$marked" = "$content $boot" ]; then
        state=stands
        if [ ${#check[@]} -gt 0 ] &&
            ! timeout -k 1 "$limit" "${check[@]}" < /dev/null > /dev/null 2>&1; then
            state=gone
        fi
    fi
    printf 'jobman-step %s\n' "$state"
done
