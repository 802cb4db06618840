"""A Slurm cluster of several virtual nodes on this machine, for tests: own ports, own folders, loopback only.

It stops exactly the processes that it started.
"""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel", "squeue")
READY_SECONDS = 60


def missing_programs():
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


def free_ports(count):
    """`count` consecutive ports that nobody listens on."""
    for _ in range(100):
        # Below the range that the kernel hands out by itself.
        first = random.randrange(20000, 32000)
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise RuntimeError("no free ports")


def parent_and_name(pid):
    """(parent, name) of a live process; None when it is gone or a zombie."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf8")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2:].split()
    return None if fields[0] == "Z" else (int(fields[1]), text[text.index("(") + 1:text.rindex(")")])


def live_processes():
    return {int(name): found for name in os.listdir("/proc") if name.isdigit() and (found := parent_and_name(name))}


class PrivateSlurm:
    def __init__(self, folder, nodes):
        self.folder = pathlib.Path(folder)
        self.nodes = nodes
        self.daemons = []
        self.conf = self.folder / "slurm.conf"
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_", "SBATCH_", "SRUN_"))}
        self.environment["SLURM_CONF"] = str(self.conf)
        self.environment["PATH"] += ":/usr/sbin:/sbin"

    def start(self):
        # The controller's and one for each node.
        port = free_ports(1 + self.nodes)
        host = socket.gethostname().split(".")[0]
        for kind in ("spool", "tmp"):
            for node in range(1, self.nodes + 1):
                (self.folder / kind / f"n{node}").mkdir(parents=True)
        (self.folder / "state").mkdir()
        # Without a TmpFS of its own for each node the second cannot make PMIx's folder.
        self.conf.write_text(f"""
ClusterName=doppler-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
SlurmdSpoolDir={self.folder}/spool/%n
TmpFS={self.folder}/tmp/%n
StateSaveLocation={self.folder}/state
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd.%n.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=100000,sched_interval=2,bf_interval=2
ReturnToService=2
JobRequeue=1
KillWait=5
SlurmdParameters=config_overrides
NodeName=n[1-{self.nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{port + 1}-{port + self.nodes}] CPUs=8 RealMemory=2000
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
""", encoding="utf8")
        self.spawn("slurmctld", "-c", "-D")
        for node in range(1, self.nodes + 1):
            self.spawn("slurmd", "-D", "-N", f"n{node}")
        deadline = time.monotonic() + READY_SECONDS
        while self.idle_nodes() < self.nodes:
            if time.monotonic() > deadline or any(d.poll() is not None for d in self.daemons):
                raise RuntimeError("the private Slurm did not start:\n" + self.logs())
            time.sleep(0.2)

    def spawn(self, *command):
        self.daemons.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def call(self, *command, **variables):
        result = subprocess.run([str(c) for c in command], env={**self.environment, **variables}, text=True,
                                capture_output=True, timeout=60, check=False)
        return result.stdout.strip(), result.stderr.strip()

    def idle_nodes(self):
        states, _ = self.call("sinfo", "--noheader", "--Node", "--format=%T")
        return states.split().count("idle")

    def logs(self):
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in self.folder.glob("*.log"))

    def job(self, number):
        """What `scontrol show job` says; {} for a job that Slurm has forgotten."""
        text, _ = self.call("scontrol", "--oneliner", "show", "job", number)
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def stop(self):
        """Ends all jobs, the daemons, and what these have left."""
        if any(d.poll() is None for d in self.daemons):
            self.call("scancel", "--user=root")
            self.call("scancel", "--full", "--signal=KILL", "--user=root")
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and self.call("squeue", "--noheader")[0]:
                time.sleep(0.2)
        left = self.descendants()
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid, name in left.items():
            found = parent_and_name(pid)
            if found and found[1] == name:
                os.kill(pid, signal.SIGKILL)

    def descendants(self):
        """{process: name} of what the daemons started. A slurmstepd leaves its daemon's family: it names its folder."""
        everything = live_processes()
        found = {d.pid for d in self.daemons}
        for pid, (_, name) in everything.items():
            if name.startswith("slurmstepd") and self.is_of_this_cluster(pid):
                found.add(pid)
        grown = True
        while grown:
            new = {pid for pid, (parent, _) in everything.items() if parent in found} - found
            found |= new
            grown = bool(new)
        return {pid: everything[pid][1] for pid in found if pid in everything}

    def is_of_this_cluster(self, pid):
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        return f"SLURM_CONF={self.conf}".encode() in environment.split(b"\0")
