# NOTE GRACE INTERACTIVE WORKDIR N MOUNT… (N of them) OPTION… IMAGE COMMAND…: runs a command in a
# container.
#
# It is created first, and started then: one that is removed in between never starts. It is removed
# here and not by docker, so that what it ended with can be asked for even if the client that shows
# its output is lost.
_note=$1
_grace=$2
_interactive=$3
_folder=${4:-$PWD}
_mounts=$5
shift 5
_token=${JOBMAN_ATTEMPT_TOKEN%%.*}
_name=jobman-$JOBMAN_ATTEMPT_TOKEN

home() { # PATHS: with the home folder for each ~
    local _paths=${1/#\~/$HOME}
    printf '%s' "${_paths//:\~/:"$HOME"}"
}

_options=(--name "$_name" --label "jobman.host=$HOME" --label "jobman.attempt=$_token"
    --volume "$HOME:$HOME" --env HOME --workdir "$(home "$_folder")")
while [ "$_mounts" -gt 0 ]; do
    _options+=(--volume "$(home "$1")")
    _mounts=$((_mounts - 1))
    shift
done
for _variable in "${!JOBMAN_@}"; do
    case $_variable in
        # Inside it would only let the program be signalled twice.
        JOBMAN_ATTEMPT_TOKEN | JOBMAN_KEEPER) ;;
        *) _options+=(--env "$_variable") ;;
    esac
done

_setsid=$(type -P setsid)
_client=
_stopping=
stop() {
    _stopping=1
    "${_docker[@]}" stop -t "$_grace" "$_name" > /dev/null 2>&1
    # One that does not run yet must not begin to.
    case $(look 2> /dev/null) in
        created*) remove --filter "label=jobman.attempt=$_token" ;;
        '') [ -z "$_client" ] || kill "$_client" 2> /dev/null ;;
    esac
}

follow() { # COMMAND…: runs a client of docker; sets code to what it ended with
    # In a session of its own: under sudo it is root's, and nobody else could end it.
    "$_setsid" "$@" <&0 &
    _client=$!
    while
        wait "$_client"
        _code=$?
        [ -d "/proc/$_client" ]
    do :; done
}

look() { # prints the container's state and exit code, nothing if there is none; fails if unknown
    local _id
    _id=$(ours --filter "label=jobman.attempt=$_token") || return
    [ -z "$_id" ] || "${_docker[@]}" inspect --format '{{.State.Status}} {{.State.ExitCode}}' "$_id"
}

[ -z "$_note" ] || say "$_note"
find_docker || {
    say "$_why"
    exit 125
}
remove || {
    say 'containers of an older attempt are in the way, and cannot be removed: docker ps -a'
    exit 125
}
trap stop TERM INT HUP
[ -z "$_interactive" ] || _options+=("$_interactive")
PATH=$_wanted follow "${_docker[@]}" create "${_options[@]}" "$@" > /dev/null
if [ -n "$_stopping" ] || [ "$_code" != 0 ]; then
    [ -n "$_stopping" ] || say 'docker could not create the container (125), for the reason above'
    remove --filter "label=jobman.attempt=$_token"
    exit $((_stopping ? 143 : 125))
fi
# Whoever ends the attempt is to tell this script alone, which has the container stopped. The client
# would tell the program a second time, and is needed for its last words.
unset JOBMAN_ATTEMPT_TOKEN
follow "${_docker[@]}" start --attach ${_interactive:+"$_interactive"} "$_name"
_told=
_ran=
while [ -z "$_ran" ]; do
    if ! _state=$(look 2> /dev/null); then
        [ "$_told" = unknown ] || say 'the docker daemon does not answer: asks again until it does'
        _told=unknown
        sleep 1
        continue
    fi
    case $_state in
        '') _ran=no _code=0 ;;
        'created 0') _ran=no _code=125 ;;
        created*) _ran=no _code=${_state##* } ;;
        exited* | dead*) _ran=yes _code=${_state##* } ;;
        *)
            # The client is gone, the program is not.
            if [ -n "$_stopping" ]; then
                stop
            else
                [ "$_told" = lost ] || say 'lost sight of the container, which runs on: looks again'
                _told=lost
                follow "${_docker[@]}" attach --no-stdin --sig-proxy=false "$_name"
            fi
            sleep 1
            ;;
    esac
done
if [ $_ran = no ] && [ -n "$_stopping" ]; then
    _code=143
elif [ $_ran = no ]; then
    case $_code in
        0)
            _code=125
            say 'the container is gone, and nobody knows what it ended with'
            ;;
        126) say 'the image has the command, but cannot run it (126), for the reason above' ;;
        127) say 'the image has no bash, or lacks the folder to start in (127): see above' ;;
        *) say "docker could not start the container ($_code), for the reason above" ;;
    esac
fi
remove --filter "label=jobman.attempt=$_token" ||
    say 'the container could not be removed: whoever ends the attempt tries again'
exit "$_code"
