# Run in a sandbox before it is trusted: says `works`, then whatever it should not have been able to do. Nothing comes of
# it outside a sandbox either: files of the system are opened, not written; signal 0 is none; a UDP socket sends nothing.
echo works
for folder in . /tmp /var/tmp /dev /dev/shm /run /proc /sys /sys/fs/cgroup "$HOME" /; do
  (: > "$folder/{name}") 2>/dev/null && echo "writes $folder" && rm -f "$folder/{name}"
done
for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/domainname /proc/sys/vm/drop_caches /proc/sysrq-trigger \
  /proc/self/oom_score_adj /proc/{process}/oom_score_adj /sys/kernel/mm/ksm/run /sys/fs/cgroup/cgroup.procs; do
  (: >> "$file") 2>/dev/null && echo "writes $file"
done
(: < /proc/{process}/environ) 2>/dev/null && echo "reads the caller's environment"
kill -0 {process} 2>/dev/null && echo "signals the caller"
(exec 3<>/dev/udp/127.0.0.1/9) 2>/dev/null && echo "opens a socket"
:
