# Makes a virtual environment on one host, or brings one up to date. Run by bash, with
#
#   FOLDER PYTHON INSTALLER SIZE
#
# and on standard input SIZE bytes of requirements, then the constraints. FOLDER is below HOME;
# PYTHON is a version like 3.10, a path, or empty; INSTALLER is "uv", "uv-if-there" or "pip".
# Ends with 75 (EX_TEMPFAIL) where trying again may help, else with 1 or what the installer gave.
set -u

folder=$1 python=$2 installer=$3 size=$4
place=$HOME/$folder
state=$HOME/.jobman
# As long as this is there, the environment is not whole.
mark=$state/making-${folder//\//%}
wanted= interpreter= uv= stood=

say() { printf 'jobman: %s\n' "$*"; }
die() {
    printf 'jobman: %s\n' "$*" >&2
    exit 1
}

# What programs say when something is in the way that passes by itself: an index that does not
# answer, a name server that is not up yet, another process that installs packages.
passing="Read timed out|ReadTimeout|[Oo]peration timed out|Connection timed out|ConnectTimeout\
|request timed out|Connection reset|Connection refused|ConnectionResetError|RemoteDisconnected\
|Connection broken|IncompleteRead|IncompleteMessage|connection closed|broken pipe\
|Temporary failure in name resolution|Temporary failure resolving|Network is unreachable\
|dns error|error sending request|Retry\(total=0|Max retries exceeded\
|(HTTP|HTTP error|status code|Error:|client error|server error)[^0-9]{0,20}(429|500|502|503|504)\b\
|too many [45][0-9][0-9] error responses|Could not get lock|is another process using it\
|Unable to (acquire the dpkg|lock directory)"
# They are told of on the way to a cause that stays.
lasting="CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate\
|Name or service not known"

run() { # PROGRAM…: shows what it says, and keeps it to be judged
    "$@" 2>&1 | tee "$work/said"
    return "${PIPESTATUS[0]}"
}

judge() { # CODE: ends this script as the program that has just ended asks for
    [ "$1" -ne 0 ] || return 0
    # Killed, it may have been in the middle of something.
    [ "$1" -lt 128 ] || stood=
    ! passes || exit 75
    exit "$1"
}

passes() { # the last program said so
    grep -qsE "$passing" "$work/said" && ! grep -qE "$lasting" "$work/said"
}

version_of() { # PYTHON: sets version
    version=$("$1" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) &&
        [ -n "$version" ]
}

# -- the interpreter ----------------------------------------------------------------------------

candidates() {
    type -aP "python$wanted" "python${wanted:-3}" python3
    local each
    for each in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 \
        {/usr,/usr/local,/opt/python*,/opt/*}/bin/python3.{[0-9],[0-9][0-9]}; do
        [ ! -x "$each" ] || printf '%s\n' "$each"
    done
}

find_python() {
    case $python in
    */*)
        interpreter=${python/#\~\//$HOME/}
        [ -x "$interpreter" ] && version_of "$interpreter" ||
            die "$interpreter is no Python that runs on this host: correct venv.python, or write a" \
                "version like \"3.10\" there"
        wanted=$version
        return
        ;;
    esac
    wanted=$python
    local each found=
    while IFS= read -r each; do
        version_of "$each" || continue
        if [ -z "$wanted" ] || [ "$version" = "$wanted" ]; then
            interpreter=$each
            return
        fi
        case ", $found" in
        *", $version ("*) ;;
        *) found+="${found:+, }$version ($each)" ;;
        esac
    done < <(candidates | awk '!seen[$0]++')
    python_of_uv || python_of_apt ||
        die "this host has no Python ${wanted:-3}: found ${found:-none}: write one of those to" \
            "venv.python, or install it in a startup_script or on the hosts' image"
}

python_of_uv() {
    find_uv || return
    say "looking for Python ${wanted:-3} with $uv"
    interpreter=$("$uv" python find --no-project "${wanted:-3}" 2>/dev/null) && return
    run "$uv" python install "${wanted:-3}" &&
        interpreter=$("$uv" python find --no-project "${wanted:-3}" 2>/dev/null)
}

python_of_apt() {
    if install_with_apt "python${wanted:-3}-venv"; then
        interpreter=$(type -P "python${wanted:-3}") && version_of "$interpreter"
        return
    fi
    # What is not there may be only out of reach.
    ! passes || exit 75
    return 1
}

# -- tools --------------------------------------------------------------------------------------

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }

install_with_apt() { # PACKAGE
    # The hosts of a local slice are folders of somebody's machine.
    [ -z "${JOBMAN_LOCAL_SLICE-}" ] && type -P apt-get >/dev/null && as_root true 2>/dev/null ||
        return 1
    # Machines install updates as they start: apt waits for that.
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600)
    say "installing $1"
    if ! apt-cache show "$1" >/dev/null 2>&1; then
        run as_root "${apt[@]}" update && apt-cache show "$1" >/dev/null 2>&1 || return 1
    fi
    run as_root "${apt[@]}" install --no-install-recommends "$1"
}

has_uv() { # sets uv
    [ -z "$uv" ] || return 0
    local each
    for each in "$(type -P uv)" "$HOME"/{.local,.cargo,.jobman/uv}/bin/uv; do
        if [ -x "$each" ] && "$each" --version >/dev/null 2>&1; then
            uv=$each
            return
        fi
    done
    return 1
}

find_uv() { has_uv || { [ "$installer" = uv ] && fetch_uv; }; }

fetch_uv() { # puts one where it is in nobody's way
    local with=${interpreter:-python3} new
    [ ! -x "$place/bin/python" ] || with=$place/bin/python
    "$with" -m pip --version >/dev/null 2>&1 || return
    say "fetching uv"
    new=$(mktemp -d "$state/uv.XXXXXX") || return
    if "$with" -m pip install --quiet --only-binary :all: --retries 0 --timeout 15 \
        --target "$new" uv >"$work/uv" 2>&1 && "$new/bin/uv" --version >/dev/null 2>&1; then
        rm -rf "$state/uv" && mv "$new" "$state/uv" && uv=$state/uv/bin/uv
        return
    fi
    rm -rf "$new"
    say "uv cannot be had here, pip it is"
    installer=pip
    return 1
}

# -- the environment ----------------------------------------------------------------------------

stands() {
    [ ! -e "$mark" ] && [ -e "$place/pyvenv.cfg" ] && version_of "$place/bin/python" &&
        { [ -z "$python" ] || [ "$version" = "$wanted" ]; }
}

make() {
    if [ -e "$place" ] && [ ! -e "$mark" ] && [ ! -e "$place/pyvenv.cfg" ] &&
        [ -n "$(ls -A "$place" 2>/dev/null || echo file)" ]; then
        die "$place is there, and is no virtual environment: give venv.name another name, or move it"
    fi
    # Before the first file is gone: what is cut short from here on is made anew.
    : >"$mark" || die "$mark cannot be written: is the disk of the host full?"
    rm -rf -- "$place" || die "$place cannot be removed: look whose it is"
    mkdir -p -- "${place%/*}" || die "$place cannot be made: is the disk of the host full?"
    say "making $place with $interpreter"
    # With pip in it, as people expect.
    if [ "$installer" = uv ] && has_uv &&
        run "$uv" venv --quiet --seed --python "$interpreter" "$place"; then
        return
    fi
    if "$interpreter" -c 'import ensurepip, venv' 2>/dev/null; then
        run "$interpreter" -m venv --clear "$place"
        judge $?
    elif find_uv; then
        # Debian leaves out what brings pip into an environment.
        run "$uv" venv --quiet --clear --seed --python "$interpreter" "$place"
        judge $?
    elif version_of "$interpreter" && install_with_apt "python$version-venv"; then
        run "$interpreter" -m venv --clear "$place"
        judge $?
    else
        ! passes || exit 75
        die "$interpreter cannot make virtual environments, as python$version-venv is missing, and" \
            "there is no uv: have one of them installed by a startup_script"
    fi
}

install() {
    [ -s "$work/requirements" ] || return 0
    local what=(-r "$work/requirements")
    [ ! -s "$work/constraints" ] || what+=(-c "$work/constraints")
    # uv does not read what pip is told of mirrors.
    ! pip_is_told || uv_is_told || installer=pip
    if [ "$installer" != pip ] && find_uv; then
        # As pip does: the best version on any of the indexes.
        run "$uv" pip install --python "$place/bin/python" --index-strategy unsafe-best-match \
            "${what[@]}"
    else
        "$place/bin/python" -m pip --version >/dev/null 2>&1 ||
            "$place/bin/python" -m ensurepip >/dev/null 2>&1 ||
            die "$place has no pip: remove it, so that it is made anew"
        run_pip install --no-input --progress-bar off "${what[@]}"
    fi
    judge $?
}

run_pip() { # ARGUMENT…
    run "$place/bin/python" -m pip --log "$work/pip.log" "$@"
    local code=$?
    # An index that fails looks like one without the package, but for this.
    grep -s 'Could not fetch URL' "$work/pip.log" >>"$work/said"
    return "$code"
}

pip_is_told() { # of a mirror, in one of the places where pip looks (its manual, "Configuration")
    [ -z "${PIP_INDEX_URL-}${PIP_EXTRA_INDEX_URL-}${PIP_FIND_LINKS-}${PIP_NO_INDEX-}${PIP_PROXY-}" ] ||
        return 0
    local files=("${PIP_CONFIG_FILE:-$place/pip.conf}")
    [ "${PIP_CONFIG_FILE-}" = /dev/null ] || files+=({/etc,/etc/xdg/pip}/pip.conf
        "$HOME/.pip/pip.conf" "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf")
    grep -qsE '^(index-url|extra-index-url|find-links|no-index|proxy|trusted-host)[[:space:]]*[=:]' \
        "${files[@]}"
}

uv_is_told() { [ -n "${UV_INDEX_URL-}${UV_DEFAULT_INDEX-}${UV_INDEX-}${UV_FIND_LINKS-}" ]; }

# Only what is asked for decides, and what is said goes to a file.
unset VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_COLOR=1
# Networks that look into connections have their certificate where the system keeps its own.
export UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1
export UV_NO_PROGRESS=1 NO_COLOR=1 PYTHONUNBUFFERED=1

cd -- "$HOME" && mkdir -p "$state" && work=$(mktemp -d "$state/venv.XXXXXX") ||
    die "$state cannot be written: is the disk of the host full?"
# What went wrong with an environment that stood before has taken nothing from it.
trap 'rm -rf "$work"; [ -z "$stood" ] || rm -f "$mark"' EXIT
trap 'stood=; exit 143' TERM INT HUP
head -c "$size" >"$work/requirements" && cat >"$work/constraints" && exec </dev/null ||
    die "$work cannot be written: is the disk of the host full?"
# One at a time; what an earlier run left behind keeps this open as well, until it is done.
exec 9>"$state/venv.lock" && flock 9 || die "$state/venv.lock cannot be locked"

find_python
if stands; then
    : >"$mark" || die "$mark cannot be written: is the disk of the host full?"
    stood=1
else
    make
fi
install
version_of "$place/bin/python" || die "$place was made, and its Python does not run"
rm -f "$mark"
say "$place is ready, with Python $version"
