"""A throw-away Slurm cluster on this machine: two pretended nodes, no systemd, no cgroups; needs root."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

TOOLS = ("slurmctld", "slurmd", "sbatch", "munged")
NODES = ("n1", "n2")
CPUS = 4
LOST_AFTER = 15  # seconds without an answer after which a node counts as lost


def can_run() -> bool:
    return os.geteuid() == 0 and all(shutil.which(tool) for tool in TOOLS)


def wait_until(condition: str, seconds: float = 120.0) -> None:
    """Wait for a shell command to succeed; fails after a while."""
    end = time.monotonic() + seconds
    while subprocess.run(condition, shell=True, capture_output=True).returncode:
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.2)


class Cluster:
    """Two nodes of four CPUs and two GPUs each; the GPUs are copies of /dev/null."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started_munge = False

    def up(self) -> None:
        for name in ("state", "log", "run", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        for number in range(2):
            os.mknod(self.folder / f"gpu{number}", 0o666 | 0o020000, os.makedev(1, 3))
        (self.folder / "slurm.conf").write_text(self._settings(), "utf-8")
        gres = "".join(f"NodeName={node} Name=gpu File={self.folder}/gpu[0-1]\n" for node in NODES)
        (self.folder / "gres.conf").write_text(gres, "utf-8")
        version = subprocess.run(["slurmd", "-V"], capture_output=True, text=True).stdout.split()[-1]
        if int(version.split(".")[0]) >= 23:  # older versions do not know it
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n", "utf-8")
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self._munge()
        subprocess.run(["slurmctld"], check=True)
        for node in NODES:
            subprocess.run(["slurmd", "-N", node], check=True)
        wait_until(f"test $(sinfo -h -N -o '%N %t' | sort -u | grep -c ' idle$') = {len(NODES)}", 60)

    def down(self) -> None:
        """End the jobs, then the daemons this cluster started, by their process ids."""
        if (self.folder / "run" / "slurmctld.pid").exists():
            subprocess.run("squeue -h -o %A | sort -u | xargs -r scancel", shell=True, capture_output=True)
            time.sleep(1)
        names = [*(f"slurmd.{node}.pid" for node in NODES), "slurmctld.pid"]
        pids = [self._stop(self.folder / "run" / name) for name in names]
        if self.started_munge:
            pids.append(self._stop(Path("/run/munge/munged.pid")))
        for pid in filter(None, pids):
            wait_until(f"! kill -0 {pid}", 30)
        os.environ.pop("SLURM_CONF", None)

    def lose(self, node: str) -> None:
        """The node's daemon is gone, as if its network had failed; jobs on it run on, unseen."""
        os.kill(int((self.folder / "run" / f"slurmd.{node}.pid").read_text()), 9)
        (self.folder / "run" / f"slurmd.{node}.pid").unlink()

    def bring_back(self, node: str) -> None:
        subprocess.run(["slurmd", "-N", node], check=True)
        wait_until(f"sinfo -h -N -n {node} -o %t | grep -q idle", 60)

    def _stop(self, file: Path) -> int | None:
        if not file.exists():
            return None
        pid = int(file.read_text())
        try:
            os.kill(pid, 15)
        except ProcessLookupError:
            return None
        return pid

    def _munge(self) -> None:
        """Slurm's daemons know each other by munge."""
        if subprocess.run("munge -n | unmunge", shell=True, capture_output=True).returncode == 0:
            return
        Path("/run/munge").mkdir(exist_ok=True)
        shutil.chown("/run/munge", "munge", "munge")
        subprocess.run(["runuser", "-u", "munge", "--", "/usr/sbin/munged"], check=True)
        self.started_munge = True
        wait_until("munge -n | unmunge", 30)

    def _settings(self) -> str:
        host = socket.gethostname().split(".")[0]
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        ports = _free_ports(len(NODES) + 1)
        node_lines = "".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} Sockets=1 "
            f"CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory={int(memory * 0.9 / 2**20)} Gres=gpu:2 State=UNKNOWN\n"
            for node, port in zip(NODES, ports, strict=False)
        )
        values = {
            "ClusterName": "test",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmctldPort": ports[-1],
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": "cred_expire=5",  # a requeued job waits so long, 120 s otherwise
            "CredType": "cred/munge",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "MpiDefault": "none",
            "SwitchType": "switch/none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU",
            "SchedulerType": "sched/backfill",
            "SchedulerParameters": "bf_interval=1,sched_min_interval=0,batch_sched_delay=0",
            "JobRequeue": 1,
            "SlurmdTimeout": LOST_AFTER,
            "KillWait": 5,
            "ReturnToService": 2,
            "AccountingStorageType": "accounting_storage/none",
            "JobCompType": "jobcomp/none",
            "StateSaveLocation": self.folder / "state",
            "SlurmdSpoolDir": f"{self.folder}/spool/%n",
            "SlurmctldPidFile": f"{self.folder}/run/slurmctld.pid",
            "SlurmdPidFile": f"{self.folder}/run/slurmd.%n.pid",
            "SlurmctldLogFile": f"{self.folder}/log/slurmctld.log",
            "SlurmdLogFile": f"{self.folder}/log/slurmd.%n.log",
            "SlurmdParameters": "config_overrides",  # more CPUs than there are
            "GresTypes": "gpu",
        }
        lines = "".join(f"{name}={value}\n" for name, value in values.items())
        return f"{lines}{node_lines}PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"


def _free_ports(count: int) -> list[int]:
    """Ports nobody listens on; tests may not open sockets themselves."""
    lines = Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]
    used = {int(line.split()[1].split(":")[1], 16) for line in lines}
    return [port for port in range(16800 + os.getpid() % 1000, 32000) if port not in used][:count]
