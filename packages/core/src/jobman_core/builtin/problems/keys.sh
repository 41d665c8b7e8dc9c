each_key() { # COMMAND…: runs it with the path of each key
    local path
    while IFS= read -r path; do
        [ -z "$path" ] || "$@" "$HOME/$path"
    done <<< "$JOBMAN_KEYS"
}

wrong_with() { # PATH
    if [ ! -s "$1" ]; then
        echo "$1 is missing"
    elif [[ $1 != *.pub ]] && [ -n "$(find -L "$1" -perm /077)" ]; then
        echo "$1 can be read by others, so OpenSSH does not take it"
    fi
}

is_gone() { # PATH
    [ -s "$1" ] || echo "$1"
}

close_up() { # PATH
    [ ! -e "$1" ] || [[ $1 == *.pub ]] || chmod go= -- "$1"
}

check() {
    local wrong
    wrong=$(each_key wrong_with)
    [ -n "$wrong" ] || return 0
    echo "$wrong"
    return 1
}

mend() {
    local gone
    each_key close_up
    gone=$(each_key is_gone)
    [ -n "$gone" ] || return 0
    echo "only \`jobman reboot ID --force\` brings it"
    return 1
}
