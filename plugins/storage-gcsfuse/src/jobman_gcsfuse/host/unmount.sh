# unmount.sh [BUCKET PATH]…: what is mounted there of these buckets, or dead, is unmounted.
left=()
while (($#)); do
    locate "$2"
    look "$1" "$place"
    case $state in
        fine | closed) let_go "$place" || left+=("$place") ;;
        dead) let_go "$place" force || left+=("$place") ;;
    esac
    shift 2
done
((${#left[@]} == 0)) || fail "cannot unmount ${left[*]}"
