# Checks code out afresh on one host. Run by bash; all it is told comes on standard input, each item
# ended by a NUL: address, ref, folder below HOME, commit (may be empty), limit in seconds.
#
# Prints `jobman-commit <id>` as a line of its own. Exit codes of its own: 93 the folder is refused,
# 94 there is no git, 95 no such ref, 124 the limit has passed, else 1 or git's.
set -u

IFS= read -r -d '' url && IFS= read -r -d '' ref && IFS= read -r -d '' folder &&
    IFS= read -r -d '' commit && IFS= read -r -d '' limit || exit 1
exec 3>&1 1>&2 </dev/null

while [[ $folder == */ ]]; do folder=${folder%/}; done
case /$folder/ in
*//* | */../* | */./*)
    echo "'$folder' is not a plain relative path" >&2
    exit 93
    ;;
esac
command -v git >/dev/null || exit 94

# Nobody is there to answer a question, and nobody's repository is meant but the one named.
unset $(git rev-parse --local-env-vars) GIT_ASKPASS SSH_ASKPASS
ssh=${GIT_SSH_COMMAND:-$(git config --get core.sshCommand || echo ssh)}
export GIT_TERMINAL_PROMPT=0 GCM_INTERACTIVE=never
# A new host has never seen the server; one whose key has changed is refused all the same.
export GIT_SSH_COMMAND="$ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o ConnectTimeout=30"

deadline=$((SECONDS + limit))
run_git() {
    local left=$((deadline - SECONDS))
    [ "$left" -gt 0 ] || exit 124
    # A connection that moves nothing for a minute is given up; no process stays to tidy up.
    timeout -k 5 "$left" git -c core.askPass= -c gc.auto=0 -c maintenance.auto=false \
        -c http.lowSpeedLimit=100 -c http.lowSpeedTime=60 -c advice.detachedHead=false "$@"
    local code=$?
    # Once the time is up it makes no sense to try anything else.
    [ "$code" -ne 124 ] || exit 124
    return "$code"
}

remove() {
    # A link is removed as a link. Folders may have been made read-only by what ran in them.
    [ -e "$1" ] || [ -L "$1" ] || return 0
    rm -rf -- "$1" 2>/dev/null && return
    chmod -R u+rwX -- "$1" 2>/dev/null
    rm -rf -- "$1"
}

cd -- "$HOME" && mkdir -p .jobman || exit 1
# An older checkout that still runs, of a controller that is gone, must not put its folder in place
# later: it finds its own gone. Renamed first, since git may be writing into it.
for old in .jobman/checkout.d.??????; do
    [ -d "$old" ] && mv -- "$old" "$old.old" 2>/dev/null
done
for old in .jobman/checkout.d.*.old; do remove "$old" 2>/dev/null; done
new=$(mktemp -d .jobman/checkout.d.XXXXXX) || exit 1
trap 'remove "$HOME/$new"' EXIT

run_git clone --quiet --no-checkout -- "$url" "$new/code" || exit 1
has_ref() { git -C "$new/code" show-ref --quiet --verify -- "$1"; }
find_commit() { git -C "$new/code" rev-parse --quiet --verify "$1^{commit}" 2>/dev/null; }

branch=
if has_ref "refs/remotes/origin/$ref"; then
    full=refs/remotes/origin/$ref
    # Such a name cannot be given to git as a branch; the commit can.
    [[ $ref == -* || $ref == HEAD ]] || branch=$ref
elif has_ref "refs/tags/$ref"; then
    full=refs/tags/$ref
elif [[ $ref =~ ^[0-9a-fA-F]{4,64}$ ]]; then
    full=$ref
elif [ -z "$commit" ]; then
    exit 95
fi
[ -n "$commit" ] || commit=$(find_commit "$full") || commit=$full
if ! find_commit "$commit" >/dev/null; then
    # No branch or tag leads there (any more); servers give it out by its full id.
    [[ $commit =~ ^[0-9a-fA-F]{40}([0-9a-fA-F]{24})?$ ]] || exit 95
    run_git -C "$new/code" fetch --quiet origin "$commit" || exit 95
    find_commit "$commit" >/dev/null || exit 95
fi

if [ -n "$branch" ]; then
    run_git -C "$new/code" checkout --quiet --no-track -B "$branch" "$commit" -- &&
        run_git -C "$new/code" branch --quiet --set-upstream-to="origin/$branch" || exit 1
else
    run_git -C "$new/code" checkout --quiet --detach "$commit" -- || exit 1
fi

parent=.
[[ $folder != */* ]] || parent=${folder%/*}
mkdir -p -- "$parent" && remove "$folder" && mv -T -- "$new/code" "$folder" || exit 1
printf 'jobman-commit %s\n' "$(git -C "$folder" rev-parse HEAD)" >&3
