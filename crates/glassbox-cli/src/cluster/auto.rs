//! Whoever watches a cluster and changes its scheme as the load suggests.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use glassbox_cluster::auto::Advice;
use glassbox_cluster::run::{Sockets, Watcher};
use glassbox_cluster::{Address, SchemeKind};

use super::config::Config;
use super::operate::operator;

/// A stretch of time that is looked at.
const STRETCH: Duration = Duration::from_millis(100);

/// A change that was made.
#[derive(Debug, Clone)]
pub struct Change {
    /// After so long.
    pub after: Duration,
    /// To this scheme.
    pub to: SchemeKind,
    /// The sums that led to it.
    pub advice: Advice,
}

/// Watches, and changes the scheme, until `ends`; `told` hears of each change. `calls`: how many are under way at a
/// time, if that is known. Whoever else decides about the cluster in this process holds `decides` meanwhile.
///
/// # Errors
/// When nobody can be called at all. A change that cannot be made, because of who is gone, is tried again.
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
                tell(Some(format!("nothing can be said of the load now: {why}; `glassbox cluster status` tells more")));
                continue;
            }
        };
        let _alone = decides.lock().map_err(|_| anyhow!("whoever decides about the cluster has panicked"))?;
        match operator(config, file).and_then(|mut it| it.change_scheme(to).map_err(anyhow::Error::msg)) {
            Ok(()) => {
                let advice = watcher.advice().expect("something was proposed").clone();
                told(&Change { after: began.elapsed(), to, advice });
                tell(None);
            }
            Err(why) => tell(Some(format!("the scheme cannot be changed to {to} now: {why:#}; it is tried again"))),
        }
    }
    Ok(())
}
