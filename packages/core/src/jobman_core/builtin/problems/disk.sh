# A disk is full where less than 5 % and less than a GiB of it is left, or less than 1 % of the
# files that it can have.
paths=(/ "$HOME" /tmp)

check() {
    local i disks=() disk path seen='' size blocks left files room found=0
    mapfile -t disks < <(stat -c %d "${paths[@]}")
    i=0
    while read -r size blocks left files room; do
        disk=${disks[i]} path=${paths[i]}
        i=$((i + 1))
        case " $seen " in *" $disk "*) continue ;; esac
        seen="$seen $disk"
        if [ $((left * 100)) -lt $((blocks * 5)) ] && [ $((left * size)) -lt $((1 << 30)) ]; then
            found=1
            echo "the disk of $path is full: $((left * size >> 20)) of $((blocks * size >> 20)) MiB" \
                "are left"
        elif [ $((room * 100)) -lt "$files" ]; then
            found=1
            echo "the disk of $path can hold no more files: $room of $files are left"
        fi
    done < <(stat -f -c '%S %b %a %c %d' "${paths[@]}")
    return $found
}

mend() {
    command -v apt-get > /dev/null && as_root apt-get clean
    rm -rf "$HOME/.cache/pip"
    command -v journalctl > /dev/null && as_root journalctl --quiet --vacuum-size=64M
    [ ! -d /tmp/tpu_logs ] || as_root find /tmp/tpu_logs -xdev -type f -mtime +0 -delete
}
