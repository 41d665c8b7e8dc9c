# Runs a program inside a virtual environment. Run by bash, with FOLDER [PROGRAM [ARGUMENT…]];
# FOLDER is below HOME. Without a program it only looks. Never runs anything outside: ends with 78
# (EX_CONFIG) where the environment is not there.
# Positional parameters are all it sets: any other name may be a variable of the program's.
if [ -e "$HOME/.jobman/making-${1//\//%}" ]; then
    printf 'jobman: environment %s (~/%s) is half made: `jobman reboot --force ID` makes it anew\n' "$1" "$1" >&2
    exit 78
elif ! [ -x "$HOME/$1/bin/python" ]; then
    printf 'jobman: there is no environment %s on this host (~/%s has no bin/python that runs); found: %s\n' \
        "$1" "$1" "$(
            cd && for each in */pyvenv.cfg .[!.]*/pyvenv.cfg */*/pyvenv.cfg; do
                [ ! -e "$each" ] || printf '%s ' "${each%/*}"
            done | grep . || echo none
        )" >&2
    exit 78
fi
export VIRTUAL_ENV="$HOME/$1" PATH="$HOME/$1/bin:$PATH"
unset PYTHONHOME
shift
[ $# -eq 0 ] || exec -- "$@"
