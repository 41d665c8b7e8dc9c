# Makes an environment of conda on one host. Run by bash, with
#
#   NAME INSTALLER_URL
#
# and the environment.yml on standard input, which may be empty. Ends with 75 (EX_TEMPFAIL) where
# trying again may help, else with 1 or what conda gave.
set -u

name=$1 url=$2
state=$HOME/.jobman
# As long as this is there, the environment is not whole, whose folder stands in it.
mark=$state/conda-making-$name
forge=$HOME/miniforge3
tool= root= there=

say() { printf 'jobman: %s\n' "$*"; }
die() {
    printf 'jobman: %s\n' "$*" >&2
    exit 1
}

# What conda, mamba, micromamba and curl say of what passes by itself.
passing="CONNECTION FAILED|Connection (failed|timed out|refused|reset|broken)|ConnectTimeout\
|Read timed out|ReadTimeout|Timeout was reached|Connection[A-Z][a-z]+Error|RemoteDisconnected\
|(Could not|Couldn't) resolve host|Temporary failure in name resolution|Network is unreachable|IncompleteRead\
|HTTP (429|500|502|503|504)|(status|response) code:? (429|500|502|503|504)|returned error: 5[0-9][0-9]\
|Download error|curl: \((6|7|18|28|52|55|56|92)\)|unable to resolve host|Could not acquire lock|LockError"
# They are told of on the way to a cause that stays.
lasting="CERTIFICATE_VERIFY_FAILED|certificate verify failed|PackagesNotFoundError|nothing provides\
|UnsatisfiableError|ResolvePackageNotFound"

run() { # PROGRAM…: shows what it says, and ends this script as it asks for
    "$@" 2>&1 | tee "$work/said"
    local code=${PIPESTATUS[0]}
    [ "$code" -ne 0 ] || return 0
    if grep -qE "$passing" "$work/said" && ! grep -qE "$lasting" "$work/said"; then exit 75; fi
    exit "$code"
}

find_tool() { # sets tool: conda and mamba alike, or micromamba
    local each
    while IFS= read -r each; do
        for tool in "$each"/bin/mamba "$each"/bin/conda "$each"/bin/micromamba; do
            works "$tool" && return
        done
    done < <(jobman_roots)
    for tool in "$(type -P micromamba)" "$HOME"/{.local/,}bin/micromamba /usr/local/bin/micromamba; do
        works "$tool" && return
    done
    return 1
}

works() { [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

install_tool() {
    local made=$state/conda-making-installer file=$work/installer.sh
    url=${url:-https://github.com/conda-forge/miniforge/releases/latest/download/Miniforge3-Linux-$(uname -m).sh}
    [ ! -e "$forge" ] || [ -e "$made" ] ||
        die "$forge is there, and has no conda that runs: move it, so that it can be installed anew"
    say "installing $url to $forge"
    if type -P curl >/dev/null; then
        run curl --fail --location --silent --show-error --retry 2 --max-time 1800 -o "$file" "$url"
    else
        type -P wget >/dev/null || die "there is no conda, and neither curl nor wget to fetch one"
        run wget --no-verbose --tries 3 -O "$file" "$url"
    fi
    # What is cut short from here on is done anew.
    : >"$made" && rm -rf -- "$forge" || die "$forge cannot be removed: look whose it is"
    run bash "$file" -b -p "$forge"
    find_tool || die "$url was installed to $forge, and there is no conda that runs: correct conda.installer_url"
    rm -f "$made"
}

choose() { # sets there, the folder for a new environment, and root, which it is below
    case $tool in
    */micromamba) root=${MAMBA_ROOT_PREFIX:-$HOME/micromamba} ;;
    *) root=${tool%/*/*} && [ -d "$root/conda-meta" ] || root=$HOME/.conda ;;
    esac
    # One for all users is somebody else's to write.
    mkdir -p -- "$root/envs" 2>/dev/null && [ -w "$root/envs" ] || root=$HOME/.conda
    [ -n "$there" ] || there=$root/envs/$name
}

make() {
    printf '%s\n' "$there" >"$mark" || die "$mark cannot be written: is the disk of the host full?"
    rm -rf -- "$there" && mkdir -p -- "${there%/*}" ||
        die "$there cannot be made anew: look whose it is"
    say "making $there with $tool"
    local create=("$tool" create) file=("--file" "$work/environment.yml")
    case $tool in
    */micromamba) create+=(--root-prefix "$root" --yes) ;;
    *) [ ! -s "${file[1]}" ] || create=("$tool" env create) ;;
    esac
    [ -s "${file[1]}" ] || file=(python)
    run "${create[@]}" --prefix "$there" "${file[@]}"
    [ -d "$there/conda-meta" ] || die "$tool ended well, and made no environment at $there"
    printf '%s\n' "$hash" >"$there/conda-meta/jobman" && rm -f "$mark" ||
        die "$there cannot be written: is the disk of the host full?"
}

# Only what is asked for decides, and nobody is there to answer a question.
unset CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_SHLVL VIRTUAL_ENV PYTHONHOME PYTHONPATH
export CONDA_ALWAYS_YES=true MAMBA_ALWAYS_YES=true CONDA_QUIET=true NO_COLOR=1 MAMBA_NO_BANNER=1
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

cd -- "$HOME" && mkdir -p "$state" && work=$(mktemp -d "$state/conda.XXXXXX") ||
    die "$state cannot be written: is the disk of the host full?"
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM INT HUP
cat >"$work/environment.yml" && exec </dev/null ||
    die "$work cannot be written: is the disk of the host full?"
# One at a time; what an earlier run left behind keeps this open as well, until it is done.
exec 9>"$state/conda.lock" && flock 9 || die "$state/conda.lock cannot be locked"

hash=$(sha256sum <"$work/environment.yml") hash=${hash%% *}
[ "$name" != base ] || die "base is conda's own environment: write another conda.name"
if [ -s "$mark" ]; then
    there=$(cat "$mark")
elif there=$(jobman_find "$name"); then
    made=$there/conda-meta/jobman
    if [ ! -e "$made" ]; then
        say "$there is there already, and used as it is"
        exit 0
    elif [ "$(cat "$made")" = "$hash" ]; then
        say "$there is as it should be"
        exit 0
    fi
fi
find_tool || install_tool
choose
make
say "$there is ready"
