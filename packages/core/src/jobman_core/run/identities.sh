# Puts keys in their places on one host, and a block into its ~/.ssh/config. Run by bash, with
#
#   [MODE PATH]…
#
# of each key, below HOME. On standard input, each item ended by a NUL: the block's first and last
# line, the block (empty: there is to be none), then the content of each key.
set -u
export LC_ALL=C
umask 077

fail() {
    echo "$*" >&2
    exit 1
}

new=
trap '[ -z "$new" ] || rm -f -- "$new"' EXIT

put_key() { # MODE PATH CONTENT
    local folder=.
    [[ $2 != */* ]] || folder=${2%/*}
    # Readable for nobody else, not even for an instant; and there as a whole or not at all.
    mkdir -p -- "$folder" && new=$(mktemp -- "$folder/.jobman.XXXXXX") &&
        printf '%s' "$3" >"$new" && chmod -- "$1" "$new" && mv -fT -- "$new" "$2" ||
        fail "the key ~/$2 cannot be written: look at that folder, and at the host's disk"
    new=
}

find_block() { # FILE: sets begin and end to the numbers of its lines, 0 where there is none
    local line number=0
    begin=0 end=0
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        # Some editors end all lines in their own way.
        case ${line%$'\r'} in
        "$first") begin=$number ;;
        "$last") [ "$begin" = 0 ] || { end=$number && return; } ;;
        esac
    done <"$1"
    # A line that lost its other one bounds nothing: what stands around it is not ours.
    begin=0
}

text_of() { # FILE: gives it, with the block where it was, else at the end
    if [ "$end" != 0 ]; then
        head -n "$((begin - 1))" -- "$1" && printf '%s' "$block" && tail -n "+$((end + 1))" -- "$1"
        return
    fi
    if [ -s "$1" ]; then
        cat -- "$1" || return
        [ "$(tail -c 1 -- "$1" | wc -l)" -eq 1 ] || echo
    fi
    printf '%s' "$block"
}

put_block() {
    local file=.ssh/config where
    # A link stays one: what it leads to is somebody's file all the same.
    file=$(readlink -f -- "$file") && { [ ! -e "$file" ] || [ -f "$file" ]; } ||
        fail "~/.ssh/config leads to no file: mend or remove it"
    if [ ! -e "$file" ]; then
        [ -n "$block" ] || return 0
        begin=0 end=0
    else
        [ -r "$file" ] || fail "~/.ssh/config cannot be read: give its user the right to"
        find_block "$file"
        [ -n "$block" ] || [ "$end" != 0 ] || return 0
    fi
    where=${file%/*}
    new=$(mktemp -- "$where/.jobman.XXXXXX") && text_of "$file" >"$new" ||
        fail "~/.ssh/config cannot be written: look at its folder, and at the host's disk"
    if [ -e "$file" ]; then
        cp --attributes-only --preserve=all --no-preserve=timestamps -- "$file" "$new" &&
            [ "$(stat -c '%a %u %g' -- "$file")" = "$(stat -c '%a %u %g' -- "$new")" ] ||
            fail "~/.ssh/config is somebody else's: give it to the user of the hosts"
    fi
    mv -fT -- "$new" "$file" || fail "~/.ssh/config cannot be replaced: look at its folder"
    new=
}

cd -- "$HOME" || exit 1
IFS= read -r -d '' first && IFS= read -r -d '' last && IFS= read -r -d '' block ||
    fail "the keys did not arrive"
mkdir -p .ssh && chmod 700 .ssh || fail "~/.ssh is not the user's own folder: make it that"
while [ $# -gt 0 ]; do
    IFS= read -r -d '' content || fail "the keys did not arrive whole"
    put_key "$1" "$2" "$content"
    shift 2
done
put_block
