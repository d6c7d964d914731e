//! The watcher of a cluster, which changes the scheme as the load suggests.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use glassbox_cluster::auto::Advice;
use glassbox_cluster::run::{Sockets, Watcher};
use glassbox_cluster::{Address, SchemeKind};

use super::config::Config;
use super::operate::operator;

/// The interval of observations.
const STRETCH: Duration = Duration::from_millis(100);

/// A change of the scheme.
#[derive(Debug, Clone)]
pub struct Change {
    /// The time since the beginning.
    pub after: Duration,
    /// The new scheme.
    pub to: SchemeKind,
    /// The advice that led to it.
    pub advice: Advice,
}

/// Watches and changes the scheme until `ends`; `told` is called with each change. `calls`: the calls in flight, if
/// their number is known. Other operators in this process hold `decides` while they decide.
///
/// # Errors
/// When no connection is possible at all. A change that a failed member prevents is tried again.
pub fn follow(
    (config, file): (&Config, Option<&Path>),
    calls: Option<u32>,
    decides: &Mutex<()>,
    ends: impl Fn() -> bool,
    mut told: impl FnMut(&Change),
) -> anyhow::Result<()> {
    let print = |line: &str| eprintln!("{line}");
    let mut sockets = Sockets::new(config.identity(Address::WATCHER), None, config.shape().round_trip, print)?;
    config.calls(Address::WATCHER)?.into_iter().for_each(|(machine, at)| sockets.call(machine, at));
    let (mut watcher, began) = (Watcher::new(sockets, config.shape().machines(), calls), Instant::now());
    let mut refused = None;
    let mut tell = |why: Option<String>| {
        if let Some(why) = why.as_ref().filter(|_| refused != why) {
            eprintln!("{why}");
        }
        refused = why;
    };
    while !ends() {
        std::thread::sleep(watcher.pause(STRETCH));
        let to = match watcher.look() {
            Ok(Some(to)) => to,
            Ok(None) => {
                tell(None);
                continue;
            }
            Err(why) => {
                tell(Some(format!("load cannot be observed: {why}; see `glassbox-cluster status`")));
                continue;
            }
        };
        let _alone = decides.lock().map_err(|_| anyhow!("an operator of the cluster has panicked"))?;
        match operator(config, file).and_then(|mut it| it.change_scheme(to).map_err(anyhow::Error::msg)) {
            Ok(()) => {
                let advice = watcher.advice().expect("something was proposed").clone();
                told(&Change { after: began.elapsed(), to, advice });
                tell(None);
            }
            Err(why) => tell(Some(format!("scheme cannot be changed to {to}: {why:#}; it is tried again"))),
        }
    }
    Ok(())
}
