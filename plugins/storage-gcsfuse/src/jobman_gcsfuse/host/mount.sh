# mount.sh BUCKET PATH [OPTION…] [vMAJOR.MINOR OPTION…]…
#
# Mounts a bucket, unless it is so already. Options before the first version are for all; of the
# others, those of the first version that the installed gcsfuse is not older than: @CONTENT stands for
# a configuration file with that content, and !TEXT for what that version cannot do.
bucket=$1
[[ $bucket =~ ^[a-z0-9][a-z0-9._-]*[a-z0-9]$ ]] || fail "$bucket is no name of a bucket"
locate "$2"
shift 2

choose() { # OPTION…: sets options by the version
    local item meant=all
    # As v3 mounted; programs may be kept in a bucket, so files can be executed.
    options=(--implicit-dirs --dir-mode=777 --file-mode=777)
    for item; do
        if [[ $item =~ ^v([0-9]+)\.([0-9]+)$ ]]; then
            [[ $meant != this ]] || break
            meant=none
            ((version < BASH_REMATCH[1] * 1000 + BASH_REMATCH[2])) || meant=this
        elif [[ $meant != none ]]; then
            case $item in
                !*) fail "version $major.$minor is installed: ${item#!}" ;;
                @*) configure "${item#@}" ;;
                *) options+=("$item") ;;
            esac
        fi
    done
}

configure() { # CONTENT
    local name
    name=$HOME/.jobman/gcsfuse-$(printf %s "$place" | sha256sum | head -c 16).yaml
    mkdir -p "$HOME/.jobman" && printf '%s\n' "$1" > "$name" || fail "cannot write $name"
    options+=("--config-file=$name")
}

make_folder() {
    local own
    own=$(id -u):$(id -g)
    [[ ! -L $place ]] || fail "$place is a link: let mount_path name the folder that it leads to"
    if ! mkdir -p -- "$place" 2> /dev/null; then
        as_root mkdir -p -- "$place" && as_root chown "$own" -- "$place" ||
            fail "cannot make $place: take a mount_path below the home folder"
    fi
    [[ -z $(ls -A -- "$place" 2> /dev/null || as_root ls -A -- "$place") ]] ||
        fail "$place has files of its own: empty it, or take another mount_path"
    [[ -w $place ]] || as_root chown "$own" -- "$place" ||
        fail "$place belongs to somebody else: take a mount_path below the home folder"
}

let_others_in() { # of those who are not root, only whom this file allows may let others in
    [[ " ${options[*]} " == *' --o=allow_other '* ]] && ((EUID != 0)) || return 0
    grep -qsx user_allow_other /etc/fuse.conf ||
        echo user_allow_other | as_root tee -a /etc/fuse.conf > /dev/null ||
        fail 'docker cannot be let in: write user_allow_other into /etc/fuse.conf'
}

look "$bucket" "$place"
case $state in
    fine) exit 0 ;;
    other) fail "$kind of ${source:-something else} is mounted at $place: unmount it, or take another mount_path" ;;
    closed) fail "gs://$bucket is mounted at $place by another user: unmount it there" ;;
    dead)
        echo "gcsfuse: what is mounted at $place is dead ($why): it is mounted again"
        let_go "$place" force || fail "$place cannot be unmounted: run \`sudo umount -l $place\`"
        ;;
esac
make_folder
said=$(gcsfuse --version 2>&1 < /dev/null) || fail "\`gcsfuse --version\` says: $said"
[[ $said =~ version\ v?([0-9]+)\.([0-9]+) ]] ||
    fail "\`gcsfuse --version\` says ${said:-nothing}: install a release of it"
major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
version=$((10#$major * 1000 + 10#$minor))
choose "$@"
let_others_in
heard=$(mktemp) || fail 'no temporary file can be made: is the disk of the host full?'
trap 'rm -f "$heard"' EXIT
# It goes on in the background, and keeps what it has open.
gcsfuse "${options[@]}" "$bucket" "$place" > "$heard" 2>&1 < /dev/null
code=$?
cat "$heard"
look "$bucket" "$place"
[[ $state != fine ]] || exit 0
said=$(grep -iE 'error|fail' "$heard" | tail -n 1)
said="gs://$bucket cannot be mounted at $place: ${said:-it ended with $code${why:+, $why}}"
if grep -qiE 'i/o timeout|connection (refused|reset)|no such host|temporary failure|network is unreachable|handshake timeout|deadline exceeded|error 50[0-9]|error 429' "$heard"; then
    later "$said"
fi
fail "$said"
