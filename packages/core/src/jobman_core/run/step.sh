# Does one step of preparing a host. Run by bash as the content of a file, in the home folder:
#
#   KEY CONTENT LENIENT   JOBMAN_BOOT_ID_FILE is in the environment
#
# Standard input, a file, has the step's commands in turn: items that end with a NUL each, which are
# the number of variables, NAME=VALUE…, the number of arguments, ARG…, the folder below HOME, and the
# size of the command's own standard input; then so many bytes. An argument {script} stands for a
# file with those bytes.
#
# What went well is marked in ~/.jobman/ready/KEY, which a look before work reads; with LENIENT 1
# what did not is marked too, as such, unless it may pass. Ends as the first command that did not end well.
set -u
key=$1 content=$2 lenient=$3 boot_file=$JOBMAN_BOOT_ID_FILE
unset JOBMAN_BOOT_ID_FILE
shift 3
mask=$(umask)
umask 077
base=$HOME/.jobman
may_pass=75 # EX_TEMPFAIL, sysexits.h

mkdir -p "$base/steps" "$base/ready" || exit
# Of one that was killed.
rm -rf "$base/steps/$key".??????
folder=$(mktemp -d "$base/steps/$key.XXXXXX") || exit
# Keys arrive this way: no copy of what was read stays behind.
trap 'rm -rf "$folder"; [ ! -f /dev/stdin ] || : > /dev/stdin' EXIT

mark() { # [failed]
    local boot other
    read -r boot < /proc/sys/kernel/random/boot_id
    if [ "$boot_file" != /proc/sys/kernel/random/boot_id ]; then
        read -r other < "$boot_file" && boot=$boot+$other
    fi
    printf '%s\n' "$content $boot${1+ $1}" > "$folder/mark" && mv -f "$folder/mark" "$base/ready/$key"
}

items() { # reads a number and so many items, into "items"
    local count item
    items=()
    IFS= read -r -d '' count || return
    while [ "$count" -gt 0 ]; do
        IFS= read -r -d '' item || return
        items+=("$item")
        count=$((count - 1))
    done
}

run() {
    (
        trap - EXIT
        umask "$mask"
        cd "./$where" && exec < "$input" || exit
        # Variables may be called as ours are: from here on nothing has a name.
        set -- "${#argv[@]}" "${argv[@]}" ${variables[@]+"${variables[@]}"}
        unset -v items argv variables
        while [ "$#" -gt "$(($1 + 1))" ]; do
            export "${@:$#}"
            set -- "${@:1:$#-1}"
        done
        shift
        exec -- "$@"
    )
}

shown() { # one line of a command, for people: no script in it
    local argument line=
    for argument in "$@"; do
        case $argument in *$'\n'*) argument=… ;; esac
        line+=" $argument"
    done
    printf '%.100s' "${line# }"
}

number=0
while items; do
    variables=(${items[@]+"${items[@]}"})
    items || exit
    argv=("${items[@]}")
    IFS= read -r -d '' where && IFS= read -r -d '' size || exit
    number=$((number + 1))
    input=$folder/$number
    head -c "$size" > "$input"
    if [ "$(stat -c %s "$input")" != "$size" ]; then
        echo "cannot write $input: is the disk of the host full?" >&2
        exit 1
    fi
    file=$input
    for index in "${!argv[@]}"; do
        if [ "${argv[index]}" = '{script}' ]; then
            argv[index]=$file
            input=/dev/null
        fi
    done
    run
    code=$?
    if [ "$code" != 0 ]; then
        echo "[jobman: \`$(shown "${argv[@]/#"$folder"\/*/script}")\` ended with $code]"
        [ "$lenient" != 1 ] || [ "$code" = "$may_pass" ] || mark failed
        exit "$code"
    fi
done
mark
