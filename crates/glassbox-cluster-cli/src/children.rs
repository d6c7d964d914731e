//! The processes of a cluster, which end when this one does, however it ends.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, anyhow, bail};
use glassbox_cluster::Address;
use glassbox_program::sibling;

use super::config::Config;

/// The processes. They are killed when this is dropped; if this process is killed, the end of their standard input ends
/// them.
pub struct Children {
    processes: BTreeMap<Address, Child>,
    /// Processes that ended although this one did not end them, and how.
    ended: BTreeMap<Address, ExitStatus>,
    /// The directory of the journals.
    dir: Option<PathBuf>,
}

impl Children {
    /// Starts a cluster's processes, which have no places yet; with the addresses on which they listen.
    pub fn start(config: &Config, dir: Option<&Path>) -> anyhow::Result<(Self, Config)> {
        let dir = dir.map(Path::to_owned);
        let (processes, ended) = (BTreeMap::new(), BTreeMap::new());
        let (mut children, mut config) = (Self { processes, ended, dir }, config.clone());
        config.nodes.clear();
        let machines = config.shape().machines();
        for &address in &machines {
            children.spawn(address, "127.0.0.1:0")?;
        }
        for &address in &machines {
            config.nodes.push(children.listens(address)?);
        }
        config.check()?;
        machines.iter().try_for_each(|&address| children.tell(address, &config))?;
        Ok((children, config))
    }

    /// Kills one at once, as `kill -9` does.
    pub fn kill(&mut self, address: Address) -> anyhow::Result<()> {
        let mut child = self.processes.remove(&address).ok_or_else(|| anyhow!("there is no process of {address}"))?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Restarts one that was killed: on the same address, and without a place.
    pub fn restart(&mut self, address: Address, config: &Config) -> anyhow::Result<()> {
        self.spawn(address, &config.at(address)?.to_string())?;
        self.listens(address)?;
        self.tell(address, config)
    }

    fn listens(&mut self, address: Address) -> anyhow::Result<SocketAddr> {
        let child = self.processes.get_mut(&address).expect("it was started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line)?;
        let at = line.trim().strip_prefix("listening ").and_then(|at| at.parse().ok());
        at.with_context(|| format!("process of {address} does not listen"))
    }

    fn tell(&mut self, address: Address, config: &Config) -> anyhow::Result<()> {
        let input = self.processes.get_mut(&address).and_then(|child| child.stdin.as_mut()).expect("it is piped");
        let line = format!("{}\n", serde_json::to_string(config)?);
        input.write_all(line.as_bytes()).with_context(|| format!("process of {address} has ended"))
    }

    fn spawn(&mut self, address: Address, at: &str) -> anyhow::Result<()> {
        let mut command = Command::new(sibling::find(sibling::CLUSTER)?);
        command.args(["node", "--listen", at, "--config", "-"]);
        if let Some(dir) = &self.dir {
            command.arg("--dir").arg(dir);
        }
        // A process group of their own: Ctrl-C goes to this process, which then ends them.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        self.processes.insert(address, command.spawn().context("cannot start another process")?);
        Ok(())
    }

    /// Looks for processes that have ended by themselves since the last time.
    pub fn find_ended(&mut self) -> anyhow::Result<Vec<Address>> {
        let mut found = Vec::new();
        for (&address, child) in &mut self.processes {
            if !self.ended.contains_key(&address)
                && let Some(status) = child.try_wait()?
            {
                self.ended.insert(address, status);
                found.push(address);
            }
        }
        Ok(found)
    }

    /// Processes that have ended by themselves, as far as was found.
    pub fn ended(&self) -> impl Iterator<Item = Address> {
        self.ended.keys().copied()
    }

    /// How a process ended.
    pub fn obituary(&self, address: Address) -> String {
        match self.ended.get(&address) {
            // A process that ends with a status has reported the reason on standard error, which it shares with this
            // one.
            Some(status) if status.code().is_some_and(|code| code != 0) => {
                format!("process of {address} ended by itself: {status}; its own message is above")
            }
            Some(status) => format!("process of {address} ended by itself: {status}"),
            None => format!("process of {address} runs"),
        }
    }

    /// Whether all processes run.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.find_ended()?;
        match self.ended.keys().next() {
            Some(&address) => bail!(self.obituary(address)),
            None => Ok(()),
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in self.processes.values_mut() {
            // It may have ended by itself, which is fine.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
