//! The processes of a cluster, which end when this one does, however it ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use glassbox_cluster::Address;

use super::config::Config;

/// Processes. When this is dropped they are ended; when this process is killed, the end of their standard input tells
/// them.
pub struct Children(Vec<(Address, Child)>);

impl Children {
    /// Starts a cluster; with it, where its processes listen.
    pub fn start(config: &Config) -> anyhow::Result<(Self, Config)> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut children = Self(Vec::new());
        for address in config.shape().machines() {
            let mut command = Command::new(&program);
            command.args(["node", "--listen", "127.0.0.1:0", "--config", "-"]);
            // Of a group of their own: Ctrl-C is for this process, which then ends them in its own time.
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
            children.0.push((address, command.spawn().context("cannot start another process")?));
        }
        let mut config = config.clone();
        for (address, child) in &mut children.0 {
            let mut line = String::new();
            BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line)?;
            let at = line.trim().strip_prefix("listening ").and_then(|at| at.parse().ok());
            config.nodes.push(at.with_context(|| format!("the process of {address} did not begin to listen"))?);
        }
        config.check()?;
        let line = format!("{}\n", serde_json::to_string(&config)?);
        for (address, child) in &mut children.0 {
            let input = child.stdin.as_mut().expect("it is piped");
            input.write_all(line.as_bytes()).with_context(|| format!("the process of {address} has ended"))?;
        }
        Ok((children, config))
    }

    /// Whether all are still there.
    pub fn check(&mut self) -> anyhow::Result<()> {
        for (address, child) in &mut self.0 {
            if let Some(status) = child.try_wait()? {
                bail!("the process of {address} ended by itself ({status}); its message is above");
            }
        }
        Ok(())
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            // It may have ended by itself; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
