# A Slurm cluster of one machine in a scratch directory; sourced by tests. Needs root, the Debian packages
# below (fetched and unpacked, not installed, if they are not there), and nothing that is running already.
# No cluster that this machine belongs to is touched: ports, sockets and files are our own.

slurm_packages="slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libslurm38"

# Says what is missing, in `slurm_missing`, if it returns 1.
slurm_start() { # DIRECTORY
    slurm=$1
    [ "$(id -u)" = 0 ] || { slurm_missing="Slurm's daemons need root"; return 1; }
    mkdir -p "$slurm/debs" "$slurm/root" "$slurm/spool" "$slurm/state" "$slurm/run" || return 1
    (cd "$slurm/debs" && apt-get download $slurm_packages) >"$slurm/fetch.log" 2>&1 ||
        { slurm_missing="the packages of Slurm can't be fetched"; return 1; }
    for deb in "$slurm"/debs/*.deb; do dpkg -x "$deb" "$slurm/root" || return 1; done
    local lib=$slurm/root/usr/lib/x86_64-linux-gnu sbin=$slurm/root/usr/sbin
    export LD_LIBRARY_PATH=$lib:$lib/slurm-wlm PATH=$PATH:$slurm/root/usr/bin SLURM_CONF=$slurm/slurm.conf
    [ -x "$sbin/slurmctld-wlm" ] || { slurm_missing="Slurm's packages are made otherwise here"; return 1; }
    dd if=/dev/urandom of="$slurm/munge.key" bs=128 count=1 2>/dev/null
    chmod 600 "$slurm/munge.key"
    "$sbin/munged" --force --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" --pid-file="$slurm/munge.pid" \
        --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed" 2>"$slurm/munge.err" ||
        { slurm_missing="munged does not start: $(head -1 "$slurm/munge.err")"; return 1; }
    local host port
    host=$(hostname -s)
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
    cat >"$slurm/slurm.conf" <<END
ClusterName=heddle
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CredType=cred/munge
PluginDir=$lib/slurm-wlm
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/run/slurmctld.pid
SlurmdPidFile=$slurm/run/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1,max_rpc_cnt=0
JobRequeue=1
ReturnToService=2
KillWait=2
MinJobAge=30
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
SlurmdParameters=config_overrides
END
    "$sbin/slurmctld-wlm" -D >"$slurm/slurmctld.out" 2>&1 &
    slurm_controller=$!
    "$sbin/slurmd-wlm" -D -N "$host" -d "$sbin/slurmstepd-wlm" >"$slurm/slurmd.out" 2>&1 &
    slurm_node=$!
    for i in $(seq 100); do
        [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && return 0
        sleep 0.2
    done
    slurm_missing="Slurm does not start: $(tail -1 "$slurm/slurmctld.log" "$slurm/slurmd.log" 2>/dev/null | tr '\n' ' ')"
    return 1
}

slurm_stop() {
    local i
    [ -n "${slurm_node:-}" ] && timeout 10 scancel --state=RUNNING --state=PENDING 2>/dev/null
    for i in $(seq 50); do
        [ -n "${slurm_node:-}" ] && [ -n "$(timeout 10 squeue -h 2>/dev/null)" ] || break
        sleep 0.2
    done
    [ -n "${slurm_node:-}" ] && kill "$slurm_node" "$slurm_controller" 2>/dev/null
    [ -n "${slurm_node:-}" ] && wait "$slurm_node" "$slurm_controller" 2>/dev/null
    [ -f "$slurm/munge.pid" ] && kill "$(cat "$slurm/munge.pid")" 2>/dev/null
    slurm_node=
}
