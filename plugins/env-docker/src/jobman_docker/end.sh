# TOKEN: ends the container of an attempt; 0 once it is proved that there is none.
if ! find_docker; then
    # Where there is no docker it never had one.
    [ -n "$_program" ] || exit 0
    echo "$_why" >&2
    exit 1
fi
remove --filter "label=jobman.attempt=${1%%.*}" || {
    echo 'docker does not remove its container: sudo systemctl restart docker' >&2
    exit 1
}
