#!/bin/bash
# Becomes a host: bash netns_boot.sh SEED ADDRESS DISK ACCOUNTS
#
# Run as root by `unshare --mount --pid --uts --ipc --fork`, as the first process of new namespaces,
# in a network namespace that has an interface eth0. SEED is a folder with hostname, boot_id,
# host_key, keys, devices and, perhaps, startup-script; ADDRESS is eth0's, with the prefix's
# length; DISK is the most that the host may write, as tmpfs takes it; ACCOUNTS is a script that
# makes accounts of keys. All that the host writes is in memory and in these namespaces: it is gone
# with its processes, and nothing has to be undone.
set -eu
umask 022
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
seed=$1 address=$2 disk=$3 accounts=$4
root=$seed/root own=$seed/disk
name=$(< "$seed/hostname")

# -- the disk: this machine's, below one of its own ---------------------------------------------
mkdir "$root" "$own"
mount -t tmpfs -o "mode=0755,size=$disk" disk "$own"
mkdir "$own/upper" "$own/work" "$own/empty"
mount -t overlay -o "lowerdir=/,upperdir=$own/upper,workdir=$own/work" disk "$root"
# Whatever people of this machine keep in their homes, or run, is none of the host's business.
for folder in home root mnt run tmp var/tmp; do
    mkdir -p "$own/empty/$folder" "$root/$folder"
    mount --bind "$own/empty/$folder" "$root/$folder"
done
chmod 0700 "$root/root"
chmod 1777 "$root/tmp" "$root/var/tmp"
mkdir -p "$root/run/sshd" "$root/run/lock" "$root/run/old"

# -- kernel interfaces and devices ----------------------------------------------------------------
mount -t proc proc "$root/proc"
mount --bind "$seed/boot_id" "$root/proc/sys/kernel/random/boot_id"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=0755 dev "$root/dev"
for device in null zero full random urandom tty; do
    [ -e "/dev/$device" ] || continue
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
# For everybody, as udev would make it: this machine may have no udev.
if [ -e /dev/fuse ] && ! mknod -m 0666 "$root/dev/fuse" c 10 229; then
    : > "$root/dev/fuse"
    mount --bind /dev/fuse "$root/dev/fuse"
fi
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
while read -r device; do
    mkdir -p "$root${device%/*}"
    : > "$root$device"
    chmod 0666 "$root$device"
done < "$seed/devices"

# -- the network: the other hosts, this machine, and nothing beyond --------------------------------
hostname "$name"
ip link set lo up
ip address add 169.254.169.254/32 dev lo
ip address add "$address" dev eth0
ip link set eth0 up
rm -f "$root/etc/hosts" "$root/etc/hostname" "$root/etc/resolv.conf"
printf '%s\n' "$name" > "$root/etc/hostname"
printf '%s\n' '127.0.0.1 localhost' '169.254.169.254 metadata.google.internal metadata' \
    "${address%/*} $name" > "$root/etc/hosts"
printf '# there is nothing beyond\n' > "$root/etc/resolv.conf"

# -- SSH -------------------------------------------------------------------------------------------
rm -f "$root"/etc/ssh/ssh_host_*
install -m 0600 "$seed/host_key" "$root/etc/ssh/ssh_host_ed25519_key"
cat > "$root/etc/ssh/sshd_config" << 'END'
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/metadata_keys/%u .ssh/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
# Without PAM no session waits for a service that does not run here.
UsePAM no
UseDNS no
PrintMotd no
AcceptEnv LANG LC_*
MaxStartups 200
Subsystem sftp internal-sftp
END
[ ! -e "$seed/startup-script" ] || install -m 0700 "$seed/startup-script" "$root/run/startup-script"
cp "$seed/keys" "$root/run/keys"
cp "$accounts" "$root/run/accounts"

# -- the machine's own root is left behind ----------------------------------------------------------
cd "$root"
pivot_root . run/old
cd /
umount -l /run/old
bash /run/accounts < /run/keys
if [ -e /run/startup-script ]; then
    env -i HOME=/root USER=root LOGNAME=root SHELL=/bin/bash "PATH=$PATH" \
        /run/startup-script < /dev/null > /var/log/startup-script.log 2>&1 &
fi
# sshd reaps whatever loses its parent.
exec env -i "PATH=$PATH" /usr/sbin/sshd -D -e
