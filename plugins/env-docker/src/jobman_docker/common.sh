# What each of our scripts begins with; run by bash on a host. The user's environment is around it,
# and what docker is to pass on comes from there: names of ours must not meet any in it.
set -u
# The user's may be meant for the container alone.
_wanted=$PATH
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
_program=$(type -P docker)

say() { printf '[jobman: %s]\n' "$*" >&2; }

find_docker() { # sets docker: the words that reach the daemon; else why, and again: it may pass
    local _said
    _again=
    _why='docker is not installed on this host: install it (https://get.docker.com) in tpu.startup_script, or choose another env_type'
    [ -n "$_program" ] || return 1
    _docker=("$_program")
    _said=$("${_docker[@]}" version --format '{{.Server.Version}}' 2>&1 > /dev/null) && return
    # The account of a TPU VM is in sudo's group, not in docker's.
    if [ "$(id -u)" != 0 ] && type -P sudo > /dev/null; then
        _docker=("$(type -P sudo)" -n -E "$_program")
        "${_docker[@]}" version --format '{{.Server.Version}}' > /dev/null 2>&1 && return
    fi
    case $_said in
        *'permission denied'*)
            _why="docker does not let $(id -un) in, with sudo neither: sudo usermod -aG docker $(id -un)"
            ;;
        *)
            _again=1
            _why="the docker daemon does not answer (${_said##*$'\n'}): sudo systemctl start docker"
            ;;
    esac
    return 1
}

ours() { # FILTER…: lists the containers of this host's attempts; hosts may share a daemon
    "${_docker[@]}" ps --all --quiet --no-trunc --filter "label=jobman.host=$HOME" "$@"
}

remove() { # FILTER…: ends such containers and forgets them; 0 once docker has none
    local _ids _tries=0
    while _ids=$(ours "$@") || return 1 && [ -n "$_ids" ]; do
        [ $_tries -lt 10 ] || return 1
        _tries=$((_tries + 1))
        # shellcheck disable=SC2086 # ids are words
        "${_docker[@]}" rm --force --volumes $_ids > /dev/null || sleep 1
    done
}
