# As `sudo pip install` and the like leave them.
folders=()
for folder in "$HOME/.ssh" "$HOME/.cache" "$HOME/.local" "$HOME/.jobman"; do
    [ ! -e "$folder" ] || folders+=("$folder")
done

check() { # deep enough for what is found, and not for all that there is
    local found
    found=$(
        [ -O "$HOME" ] || find "$HOME" -maxdepth 0 -printf '%p belongs to %u\n'
        [ -z "${folders[*]}" ] ||
            find "${folders[@]}" -xdev -maxdepth 2 ! -uid $EUID -printf '%p belongs to %u\n' -quit
    )
    [ -n "$found" ] || return 0
    echo "$found"
    return 1
}

mend() {
    local owner=$EUID:${GROUPS[0]}
    as_root chown -h "$owner" "$HOME" || return
    [ -z "${folders[*]}" ] ||
        as_root find "${folders[@]}" -xdev ! -uid $EUID -exec chown -h "$owner" {} +
}
