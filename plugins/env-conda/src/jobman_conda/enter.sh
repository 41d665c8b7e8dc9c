# Activates an environment of conda and runs a program in it: NAME [PROGRAM [ARGUMENT…]]. Without a
# program it only looks. Never runs anything outside: ends with 78 (EX_CONFIG) where the environment
# is not there, or cannot be activated.
# As `conda activate` does, but without conda, whose `run` holds back output and signals.

jobman_activate() { # NAME FOLDER
    export CONDA_PREFIX="$2" CONDA_DEFAULT_ENV="$1" CONDA_SHLVL=1 PATH="$2/bin:$PATH"
    unset PYTHONHOME
    if [ -e "$2/conda-meta/state" ]; then
        # What `conda env config vars set` keeps.
        while IFS= read -r -d '' _jobman_item; do
            export "$_jobman_item"
        done < <(jobman_vars "$2/conda-meta/state")
        wait $! || return
    fi
    for _jobman_item in "$2"/etc/conda/activate.d/*.sh; do
        [ -e "$_jobman_item" ] || continue
        bash -n -- "$_jobman_item" || return
        jobman_source "$_jobman_item"
    done
    unset _jobman_item
}

jobman_vars() { # FILE
    local python
    python=$(type -P python python3 | head -n 1)
    "${python:-python3}" -I -c '
import json, sys
for item in (json.load(open(sys.argv[1])).get("env_vars") or {}).items():
    if item[1] != "***unset***":
        sys.stdout.write("=".join(item) + "\0")
' "$1"
}

jobman_source() {
    # Its own status says nothing: many a script ends with a test that does not hold.
    trap 'echo "jobman: $_jobman_item ended the shell instead of activating" >&2; exit 78' EXIT
    # shellcheck disable=SC1090 # the environment's own
    . "$1"
    trap - EXIT
    set +eu
}

jobman_where=$(jobman_find "$1") || {
    printf 'jobman: there is no environment %s of conda on this host; found: %s\n' \
        "$1" "$(jobman_names)" >&2
    exit 78
}
if [ -e "$HOME/.jobman/conda-making-$1" ]; then
    printf 'jobman: environment %s (%s) is half made: `jobman reboot --force ID` makes it anew\n' \
        "$1" "$jobman_where" >&2
    exit 78
fi
jobman_activate "$1" "$jobman_where" || {
    printf 'jobman: environment %s (%s) cannot be activated: make it anew\n' "$1" "$jobman_where" >&2
    exit 78
}
unset jobman_where
unset -f jobman_roots jobman_find jobman_names jobman_activate jobman_vars jobman_source
shift
[ $# -eq 0 ] || exec -- "$@"
