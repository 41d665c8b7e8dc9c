#!/bin/bash
# Makes accounts on a host for those who may log in, one "USER KIND BASE64" a line on standard
# input; whoever is not named any more cannot log in from then on.
set -eu
umask 022
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
keys=$(mktemp -d /etc/ssh/keys.XXXXXX)
chmod 0755 "$keys"
while read -r user key; do
    # A password that is none, but not one that locks the account: sshd lets nobody into that.
    if id -u -- "$user" > /dev/null 2>&1; then
        usermod -s /bin/bash -p '*' -- "$user"
    else
        useradd --badname -m -s /bin/bash -p '*' -- "$user"
    fi
    home=$(getent passwd "$user" | cut -d: -f6)
    [ -d "$home" ] || install -d -m 0755 -o "$user" "$home"
    if [ -d /etc/sudoers.d ]; then
        printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$user" > "/etc/sudoers.d/metadata-${user//./-}"
    fi
    printf '%s\n' "$key" >> "$keys/$user"
done
old=$(readlink /etc/ssh/metadata_keys || true)
# In one step: nobody who may log in is refused meanwhile.
ln -s "$keys" "$keys.link"
mv -T "$keys.link" /etc/ssh/metadata_keys
[ -z "$old" ] || rm -r "$old"
