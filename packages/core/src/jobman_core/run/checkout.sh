# Checks code out afresh on one host, from a bare mirror of the repository that the host keeps. Run
# by bash; all it is told comes on standard input, each item ended by a NUL: address, ref, folder
# below HOME, commit (may be empty), limit in seconds.
#
# Prints `jobman-commit <id>` as a line of its own. Exit codes of its own: 93 the folder is refused,
# 94 there is no git, 95 no such ref, 124 the limit has passed, else 1 or git's.
set -u
HEX='^[0-9a-fA-F]{4,64}$'
ANSWER='!printf "username=%s\npassword=%s\n" "$JOBMAN_GIT_USERNAME" "$JOBMAN_GIT_PASSWORD"; :'

IFS= read -r -d '' url && IFS= read -r -d '' ref && IFS= read -r -d '' folder &&
    IFS= read -r -d '' commit && IFS= read -r -d '' limit || exit 1
exec 3>&1 1>&2 </dev/null

check_folder
command -v git >/dev/null || exit 94

# Nobody is there to answer a question, and nobody's repository is meant but the one named.
unset $(git rev-parse --local-env-vars) GIT_ASKPASS SSH_ASKPASS
ssh=${GIT_SSH_COMMAND:-$(git config --get core.sshCommand || echo ssh)}
export GIT_TERMINAL_PROMPT=0 GCM_INTERACTIVE=never
# A new host has never seen the server; one whose key has changed is refused all the same.
export GIT_SSH_COMMAND="$ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o ConnectTimeout=30"
export GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o ServerAliveInterval=15 -o ServerAliveCountMax=4"

deadline=$((SECONDS + limit))
run_git() {
    local left=$((deadline - SECONDS))
    [ "$left" -gt 0 ] || exit 124
    # A connection that moves nothing for a minute is given up; no process stays to tidy up.
    timeout -k 5 "$left" git -c core.askPass= -c gc.auto=0 -c maintenance.auto=false \
        -c http.lowSpeedLimit=100 -c http.lowSpeedTime=60 -c advice.detachedHead=false \
        ${login[@]+"${login[@]}"} "$@"
    local code=$?
    # Once the time is up it makes no sense to try anything else.
    [ "$code" -ne 124 ] || exit 124
    return "$code"
}

cd -- "$HOME" || exit 1
[ -d .jobman/mirrors ] || { mkdir -p .jobman && mkdir -p -m 700 .jobman/mirrors; } || exit 1
# An older checkout that still runs, of a controller that is gone, must not put its folder in place
# later: it finds its own gone. Renamed first, since git may be writing into it.
turn .jobman/checkout.lock
for old in .jobman/checkout.d.??????; do
    [ -d "$old" ] && mv -- "$old" "$old.old" 2>/dev/null
done
for old in .jobman/checkout.d.*.old; do remove "$old" 2>/dev/null; done
new=$(mktemp -d .jobman/checkout.d.XXXXXX) && : >"$new/mine" || exit 1
trap 'remove "$HOME/$new"' EXIT
exec 4>&-

# Git is told who reads where it asks for that: arguments can be seen by everybody. A mirror is known
# by its address without it: passwords change.
decoded() { # as it stands in an address
    local text=${1//\\/\\\\}
    printf '%b' "${text//%/\\x}"
}
origin=$url
login=()
if [[ $url =~ ^(https?://)([^/]*)@([^/@]*)(.*)$ ]]; then
    server=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
    url=$server${BASH_REMATCH[4]}
    who=${BASH_REMATCH[2]}
    [[ $who == *:* ]] || who+=:
    JOBMAN_GIT_USERNAME=$(decoded "${who%%:*}") JOBMAN_GIT_PASSWORD=$(decoded "${who#*:}")
    export JOBMAN_GIT_USERNAME JOBMAN_GIT_PASSWORD
    login=(-c "credential.$server.helper=" -c "credential.$server.helper=$ANSWER")
fi
mirror=$(printf '%s' "$url" | sha256sum) && mirror=.jobman/mirrors/${mirror:0:40} || exit 1
# An address that is a folder's is so from here on, wherever git is told of it.
[[ $url == *:* || $url == /* ]] || [ ! -e "$url" ] || url=$HOME/$url origin=$url

# What these start and leave behind must not keep the lock.
in_mirror() { run_git --git-dir="$mirror" "$@" 5>&-; }
has_mirror() { git --git-dir="$mirror" "$@" 2>/dev/null; }

is_known() { # the commit is here, and what is to lead to it: there is nothing to ask
    [ -n "$commit" ] && has_mirror cat-file -e "$commit^{commit}" || return
    [[ $ref =~ $HEX ]] || has_mirror show-ref --quiet --verify -- "refs/heads/$ref" ||
        has_mirror show-ref --quiet --verify -- "refs/tags/$ref"
}

follow_head() { # lets the mirror have the branch that the repository shows first
    local head
    head=$(in_mirror ls-remote --symref -- "$url" HEAD) || return
    [[ ! $head =~ ^ref:\ ([^$'\t']+) ]] || in_mirror symbolic-ref HEAD "${BASH_REMATCH[1]}"
}

update() { # lets the mirror have what the repository has; of the address it keeps nothing
    if [ ! -e "$mirror" ]; then
        run_git -c init.defaultBranch=main init --quiet --bare --template= -- "$mirror" &&
            follow_head || return
    elif [ "$ref" = HEAD ]; then
        follow_head || return
    fi
    in_mirror fetch --quiet --no-tags --prune -- "$url" \
        '+refs/heads/*:refs/heads/*' '+refs/tags/*:refs/tags/*'
}

lock_mirror() {
    # One that still fetches, of a controller that is gone, is not waited for for ever.
    exec 5>"$mirror.lock" && flock -w "$((limit / 20))" 5
}

clone() { # from the mirror; from the repository itself where another holds that
    local from=$mirror
    remove "$new/code"
    if lock_mirror; then
        is_known || update || return
    else
        from=$url
    fi
    run_git clone --quiet --no-checkout -- "$from" "$new/code" 5>&- || return
    exec 5>&-
    git -C "$new/code" config remote.origin.url "$url"
}

remake() { # the mirror; the old one goes when there is another
    local old=$mirror
    lock_mirror || return
    mirror=$old.new
    remove "$mirror" && update && remove "$old" && mv -T -- "$mirror" "$old"
    local code=$?
    remove "$mirror"
    mirror=$old
    return "$code"
}

has_ref() { git -C "$new/code" show-ref --quiet --verify -- "$1"; }
find_commit() { git -C "$new/code" rev-parse --quiet --verify "$1^{commit}" 2>/dev/null; }

check_out() { # in the clone
    local branch= full=
    if has_ref "refs/remotes/origin/$ref"; then
        full=refs/remotes/origin/$ref
        # Such a name cannot be given to git as a branch; the commit can.
        [[ $ref == -* || $ref == HEAD ]] || branch=$ref
    elif has_ref "refs/tags/$ref"; then
        full=refs/tags/$ref
    elif [[ $ref =~ $HEX ]]; then
        full=$ref
    elif [ -z "$commit" ]; then
        exit 95
    fi
    full=${commit:-$full}
    if ! commit=$(find_commit "$full"); then
        # A branch or a tag leads to no commit only where something is missing.
        [[ $full != refs/* ]] || return 95
        # No branch or tag leads there (any more); servers give it out by its full id.
        [[ $full =~ ^[0-9a-fA-F]{40}([0-9a-fA-F]{24})?$ ]] || exit 95
        run_git -C "$new/code" fetch --quiet origin "$full" || exit 95
        commit=$(find_commit "$full") || exit 95
    fi

    if [ -n "$branch" ]; then
        run_git -C "$new/code" checkout --quiet --no-track -B "$branch" "$commit" -- &&
            run_git -C "$new/code" branch --quiet --set-upstream-to="origin/$branch"
    else
        run_git -C "$new/code" checkout --quiet --detach "$commit" --
    fi
}

name_origin() { # as it was written, for who works in the checkout, and for nobody else to read
    local config=$new/code/.git/config text=${origin//\\/\\\\}
    [ "$origin" != "$url" ] || return 0
    chmod 600 -- "$config" && git -C "$new/code" config --unset remote.origin.url &&
        printf '[remote "origin"]\n\turl = "%s"\n' "${text//\"/\\\"}" >>"$config"
}

is_whole() { # git takes a file that it cannot read for one that somebody removed
    [ -z "$(git -C "$new/code" diff-files --diff-filter=D --name-only)" ]
}

# A mirror that was there may be damaged: it is made anew once, whatever it was that went wrong.
[ -e "$mirror" ] && had=1 || had=
clone && check_out && { [ -z "$had" ] || is_whole; }
code=$?
if [ "$code" != 0 ] && [ -n "$had" ] && [ -e "$new/mine" ]; then
    remake || exit 1
    clone && check_out
    code=$?
fi
[ "$code" = 0 ] || exit "$code"
name_origin || exit 1

turn .jobman/checkout.lock
if [ ! -e "$new/mine" ]; then
    echo "a newer checkout has begun" >&2
    exit 1
fi
put_in_place "$new/code" || exit 1
echo "jobman-commit $commit" >&3
