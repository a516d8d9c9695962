//! A study as a job array of a real Slurm: Debian's controller, its compute daemon and its authentication, all on this machine.

use crate::common::process::Ended as _;
use crate::common::tools;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time that anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A cluster of one node. It ends with the test.
struct Cluster {
    folder: TempDir,
    daemons: Vec<Child>,
}

/// Programs that a cluster takes.
const PROGRAMS: [&str; 7] = ["munged", "mungekey", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo"];

impl Cluster {
    /// Starts one, or says that the test is skipped.
    fn start(test: &str) -> Option<Cluster> {
        let programs: Option<Vec<PathBuf>> = PROGRAMS.iter().map(|name| tools::command(&[name])).collect();
        let Some(programs) = programs else {
            tools::skipped(test, "no Slurm (Debian: apt-get install slurmctld slurmd slurm-client munge)");
            return None;
        };
        let [munged, mungekey, slurmctld, slurmd, ..] = &programs[..] else { unreachable!() };
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Cluster { folder, daemons: Vec::new() };
        let at = |name: &str| cluster.folder.path().join(name).display().to_string();
        let key = at("munge.key");
        assert!(Command::new(mungekey).args(["-c", "-k", &key]).status().unwrap().success());
        for name in ["state", "spool"] {
            fs::create_dir(cluster.folder.path().join(name)).unwrap();
        }
        fs::write(cluster.folder.path().join("slurm.conf"), configuration(&at)).unwrap();
        let socket = at("munge.socket");
        let options = [("key-file", key.clone()), ("socket", socket.clone()), ("pid-file", at("munge.pid"))];
        let files = [("log-file", at("munge.log")), ("seed-file", at("munge.seed"))];
        // Its own socket and key: what else runs on this machine is not touched.
        let munge: Vec<String> =
            options.iter().chain(&files).map(|(name, value)| format!("--{name}={value}")).collect();
        cluster.daemon(munged, &[&["--foreground".to_owned(), "--force".to_owned()], &munge[..]].concat());
        cluster.until("munged's socket", |_| Path::new(&socket).exists());
        cluster.daemon(slurmctld, &["-D".to_owned()]);
        cluster.daemon(slurmd, &["-D".to_owned()]);
        cluster.until("an idle node", |cluster| cluster.run("sinfo", &["-h", "-o", "%t"]).trim() == "idle");
        Some(cluster)
    }

    fn daemon(&mut self, program: &Path, arguments: &[String]) {
        let log = self.folder.path().join("daemons.log");
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        let mut command = self.command(program.to_str().unwrap());
        let command =
            command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program).args(arguments).env("VP", env!("CARGO_BIN_EXE_vp")).ended()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        String::from_utf8_lossy(&self.output(program, arguments).stdout).into_owned()
    }

    fn until(&self, what: &str, is: impl Fn(&Cluster) -> bool) {
        let started = Instant::now();
        while !is(self) {
            let log = || fs::read_to_string(self.folder.path().join("daemons.log")).unwrap_or_default();
            assert!(started.elapsed() < PATIENCE, "no {what}; the daemons say:\n{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            _ = daemon.kill();
            _ = daemon.wait();
        }
    }
}

/// A controller and a node, both here, without what a container lacks: control groups and accounting.
fn configuration(at: &dyn Fn(&str) -> String) -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let name = name.trim().split('.').next().unwrap_or("localhost").to_owned();
    let user = Command::new("id").arg("-un").ended();
    let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [controller, node] = ports.map(|port| port.local_addr().unwrap().port());
    let lines = [
        "ClusterName=vp".to_owned(),
        format!("SlurmctldHost={name}(127.0.0.1)"),
        format!("SlurmctldPort={controller}\nSlurmdPort={node}"),
        format!("SlurmUser={user}\nSlurmdUser={user}"),
        format!("AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={}", at("munge.socket")),
        format!("StateSaveLocation={}\nSlurmdSpoolDir={}", at("state"), at("spool")),
        format!("SlurmctldPidFile={}\nSlurmdPidFile={}", at("controller.pid"), at("node.pid")),
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none"
            .to_owned(),
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMpiDefault=none\nReturnToService=2"
            .to_owned(),
        "SchedulerParameters=sched_interval=1,bf_interval=1".to_owned(),
        format!("NodeName={name} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN"),
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n".to_owned(),
    ];
    lines.join("\n")
}

const STUDY: &str = "name = 'array'\n[sweep]\nnetwork = 'digits'\nplatform = ['nv_small', 'nv_large']\n\
                     'dbb0.read_latency' = [10, 100, 1000]\n'dbb0.read_outstanding' = [4, 16]\n";

/// Table that one program makes of the study alone.
fn alone() -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("array.toml"), STUDY).unwrap();
    let vp = Command::new(env!("CARGO_BIN_EXE_vp"))
        .current_dir(folder.path())
        .args(["study", "array.toml"])
        .ended();
    assert!(vp.status.success());
    fs::read_to_string(folder.path().join("array.results/results.csv")).unwrap()
}

#[test]
fn a_job_array_makes_what_one_program_makes() {
    let Some(cluster) = Cluster::start("a_job_array_makes_what_one_program_makes") else { return };
    fs::write(cluster.folder.path().join("array.toml"), STUDY).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies/slurm.sh");
    let submitted = cluster.output(script.to_str().unwrap(), &["array.toml", "3"]);
    let said = String::from_utf8_lossy(&submitted.stdout);
    assert!(submitted.status.success(), "{said}{}", String::from_utf8_lossy(&submitted.stderr));
    // Numbers of an array's tasks are jobs' from Slurm 24 on.
    assert!(said.contains("array 1, then merge "), "{said}");
    let results = cluster.folder.path().join("array.results");
    cluster.until("end of the jobs", |cluster| cluster.run("squeue", &["-h"]).trim().is_empty());
    let merged = fs::read_to_string(results.join("slurm-merge.out")).unwrap();
    assert!(merged.contains("12 points, 0 failed"), "{merged}");
    for shard in 1..=3 {
        let said = fs::read_to_string(results.join(format!("slurm-{shard}.out"))).unwrap();
        assert!(said.contains(&format!("shard {shard}/3: 4 points, 0 failed")), "{said}");
    }
    assert_eq!(fs::read_to_string(results.join("results.csv")).unwrap(), alone());
    assert!(results.join("report.html").exists());
}
