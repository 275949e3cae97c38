#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Slurm array of docs/model.md, on a cluster of this one host that the script starts and stops itself.
. "$(dirname "$0")/lib.sh"

for p in slurmctld slurmd sbatch; do
  command -v $p >/dev/null || { skip "Slurm: no $p (apt-get install slurm-wlm)"; exit 0; }
done
[ "$(id -u)" -eq 0 ] || { skip "Slurm: only root can start a cluster here"; exit 0; }

host=$(hostname -s)
mkdir state spool
# Two free ports, as the system gives them: a configuration wants their numbers before the daemons run.
read -ra ports < <(python3 -c 'import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("", 0))
print(*(x.getsockname()[1] for x in s))')
cat >slurm.conf <<CONF
ClusterName=one
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/spool
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmctldPidFile=$PWD/ctld.pid
SlurmdPidFile=$PWD/d.pid
SlurmctldLogFile=$PWD/ctld.log
SlurmdLogFile=$PWD/d.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=$host CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$PWD/slurm.conf
stop() {
  local f
  for f in d.pid ctld.pid; do [ -s $f ] && kill "$(cat $f)" 2>/dev/null; done
  sleep 1
}
trap stop EXIT
slurmctld -f "$SLURM_CONF" >/dev/null 2>&1 && slurmd -f "$SLURM_CONF" >/dev/null 2>&1
for _ in $(seq 40); do
  sinfo -h -o %T 2>/dev/null | grep -q idle && break
  sleep 0.5
done
if ! sinfo -h -o %T 2>/dev/null | grep -q idle; then
  skip "Slurm: its daemons do not start here: $(tail -n 1 ctld.log d.log 2>/dev/null | tr '\n' ' ')"
  exit 0
fi

args=(usrpl0-tuned --vary packet=200:4000:8 --runs 3 --set duration_s=0.2)
cat >job.sh <<JOB
#!/bin/sh
#SBATCH --array=0-2
exec "$TAPLAG" sweep ${args[@]} --workers 1 --shard \$((SLURM_ARRAY_TASK_ID + 1))/3 -o part\$SLURM_ARRAY_TASK_ID
JOB
timeout 120 sbatch --wait --chdir="$PWD" job.sh >/dev/null 2>err || { not_ok "Slurm: the array runs"; sed 's/^/  /' err; cat slurm-*.out 2>/dev/null | head; exit 0; }
ok "Slurm: the array runs"
"$TAPLAG" sweep "${args[@]}" --json >whole.json
"$TAPLAG" sweep merge part0 part1 part2 --json >merged.json
same whole.json merged.json "Slurm: the parts of the array are the whole"
