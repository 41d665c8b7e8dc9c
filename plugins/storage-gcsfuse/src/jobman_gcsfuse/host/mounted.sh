# mounted.sh [BUCKET PATH]…: ends with 0 where all are mounted and answer, else says which is not.
while (($#)); do
    locate "$2"
    look "$1" "$place"
    case $state in
        fine)
            shift 2
            continue
            ;;
        none) echo "gs://$1 is not mounted at $place" ;;
        dead) echo "gs://$1 at $place is dead: $why" ;;
        closed) echo "gs://$1 at $place belongs to another user" ;;
        other) echo "at $place there is ${source:-something else} instead of gs://$1" ;;
    esac
    exit 1
done
