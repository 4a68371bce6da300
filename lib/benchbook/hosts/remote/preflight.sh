# What a host must have before anything runs on it, said as lines of "name<TAB>value". $root is the kit's folder.
case $root in /*) ;; *) root=$HOME/$root ;; esac
# A home may be that of other machines too: no data, and no job, is to lie in one folder with theirs.
machine=$(uname -n)
[ -z "$shared" ] || root=$root@${machine%%.*}
printf 'root\t%s\n' "$root"
printf 'user\t%s\n' "$(id -un)"

# What the connection came to: the place where reservations are kept, which the hosts of a lab have in common, and its sshd.
printf 'place\t%s\n' "$(cat /proc/sys/kernel/random/boot_id) $(id -u) $(stat -c %d:%i /tmp)"
printf 'sshd_address\t%s\n' "$SSH_CONNECTION"

# Python: its version, or what is said in its place, and the interpreter itself: what PATH leads to may be a script in
# front of it, which takes longer than all that is asked of it.
printf 'python\t%s\n' "$(python3 -c 'import sys; print("%d.%d\t%s" % (*sys.version_info[:2], sys.executable))' 2>&1 | tail -n 1)"

# The folder: ours (what else lay in it would be mixed with the kit's files, and cleaned with them), made, written to (a
# full disk takes an empty file, and no bytes; a shell ends where `: >` fails, not where printf does), and something run
# from it.
mine=$root/.look.$$
folder=$( {
    step=made && mkdir -p -m 700 -- "$root" && step=ours && { [ -e "$root/.benchbook" ] || [ -z "$(ls -A -- "$root" | grep -vx lost+found)" ]; } \
        && step=written && printf '' > "$root/.benchbook" && head -c 65536 /dev/zero > "$mine.bytes" \
        && mkdir -p -m 700 -- "$root/jobs" && printf '#!/bin/sh\nexit 0\n' > "$mine" && chmod 700 "$mine" && step=run && "$mine" && step=good
} 2>&1; printf '\t%s' "$step")
rm -f -- "$mine" "$mine.bytes"
printf 'folder\t%s\n' "$(printf '%s' "$folder" | tr '\n' ' ')"

# Does systemd-logind end what a login leaves behind? It can only where the login is a session of its.
if grep -qs 'session-[^/]*\.scope' /proc/self/cgroup; then
    loginctl show-user -p KillUserProcesses -p KillOnlyUsers -p KillExcludeUsers 2>/dev/null | sed 's/^/logind\t/'
fi
true
