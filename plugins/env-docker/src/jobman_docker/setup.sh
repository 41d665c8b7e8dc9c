# IMAGE REGISTRY: gets the image. REGISTRY is Google's, if the image is there, else empty.
_image=$1
_registry=$2
_metadata=http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1
_scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$_scratch"' EXIT

_passes='i/o timeout|TLS handshake timeout|context deadline exceeded|Client\.Timeout|request canceled'
_passes="$_passes|connection (refused|reset|timed out)|broken pipe|EOF|no route to host"
_passes="$_passes|network is unreachable|temporary failure|server misbehaving|toomanyrequests"
_passes="$_passes|status( code)?:? (429|5[0-9][0-9])|(429|5[0-9][0-9]) (Too|Internal|Bad|Service|Gateway)"
_passes="$_passes|Cannot connect to the Docker daemon"

log_in() { # as the service account of the host; its token stays in no file, and in no argument
    local _token
    _token=$(curl --silent --fail --max-time 20 --header 'Metadata-Flavor: Google' \
        "$_metadata/instance/service-accounts/default/token" |
        sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p') && [ -n "$_token" ] || return 1
    export DOCKER_CONFIG=$_scratch
    printf '%s' "$_token" |
        "${_docker[@]}" login --username oauth2accesstoken --password-stdin "https://$_registry" && return
    unset DOCKER_CONFIG
    return 1
}

find_docker || {
    say "$_why"
    exit $((_again ? 75 : 1))
}
if [ -n "$_registry" ] && ! log_in 2> "$_scratch/why"; then
    say "no login to $_registry as this host's service account: $(tail -n 1 "$_scratch/why")"
fi
"${_docker[@]}" pull "$_image" 2>&1 | tee "$_scratch/said"
[ "${PIPESTATUS[0]}" != 0 ] || exit 0
if grep -qEi "$_passes" "$_scratch/said"; then
    say "$_image could not be pulled for now"
    exit 75
fi
if "${_docker[@]}" image inspect "$_image" > /dev/null 2>&1; then
    say "$_image is not to be had from a registry: the one that this host has is used"
    exit 0
fi
_why='see what docker said'
case $(tail -n 1 "$_scratch/said") in
    *'no space left'*) _why='make room on the disk of the host: docker system prune --all' ;;
    *denied* | *nauthorized* | *'not found'* | *'manifest unknown'* | *forbidden*)
        _why='check its name and tag'
        [ -z "$_registry" ] ||
            _why="$_why, and that this host's service account has the role Artifact Registry Reader"
        ;;
esac
say "$_image cannot be pulled: $_why"
tail -n 1 "$_scratch/said" >&2
exit 1
