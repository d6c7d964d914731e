//! Locks that tell who asks for them, what was taken on the way, and what came of it.
//!
//! What the lock manager does for one request, the intents above it, an escalation, a page in place of a record, shows
//! in the list of what the owner holds: it is compared with what it was before.
//!
//! Two rules are checked at each request: no thread waits for a lock while a page is latched, and a request without
//! waiting has latched the page of the name, which may be gone otherwise when the lock is granted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::trace::{self, Trace};
use crate::classic::ids::{StoreId, TxnId};
use crate::classic::lock::{
    Duration, LockConfig, LockGranularity, LockManager, LockMode, LockName, Locks, Outcome, Owner,
};
use crate::classic::stack::StackLocks;
use crate::io::Clock;

/// See the file.
pub struct TracedLocks(pub LockManager);

type Held = BTreeMap<LockName, LockMode>;

fn held(owner: &Owner) -> Held {
    owner.locks().collect()
}

/// The requested lock.
#[derive(Clone, Copy)]
struct Request {
    name: LockName,
    mode: LockMode,
    duration: Duration,
}

impl Request {
    fn show(&self, trace: &Trace) -> String {
        show(trace, self.mode, self.name)
    }
}

fn show(trace: &Trace, mode: LockMode, name: LockName) -> String {
    format!("{:<3} {}", format!("{mode:?}"), trace.names.lock(name))
}

/// Notes a request that has been answered.
fn note(trace: &mut Trace, request: Request, before: &Held, after: &Held, outcome: Outcome) {
    let given_up = before.keys().filter(|name| !after.contains_key(name)).count();
    let changed = |name: &LockName, mode: &LockMode| before.get(name) != Some(mode);
    for (name, mode) in after.iter().filter(|(name, mode)| **name != request.name && changed(name, mode)) {
        let shown = show(trace, *mode, *name);
        match before.get(name) {
            Some(was) if given_up > 0 => {
                trace.add("lock", &format!("{shown}: escalated from {was:?}; {given_up} locks below it given up"));
            }
            Some(was) => trace.add("lock", &format!("{shown}: converted from {was:?}")),
            None => trace.add("lock", &shown),
        }
    }
    let (held, was) = (after.get(&request.name), before.get(&request.name));
    let came = match (outcome, request.duration) {
        (Outcome::WouldBlock, _) => "would block".to_owned(),
        (Outcome::Deadlock, _) => "refused, to end a deadlock".to_owned(),
        (Outcome::Timeout, _) => "refused, it waited too long".to_owned(),
        (Outcome::Granted, _) if was.is_some_and(|was| was.covers(request.mode)) => "held already".to_owned(),
        (Outcome::Granted, Duration::Momentary) => "granted for a moment".to_owned(),
        (Outcome::Granted, _) => match (held, was) {
            (Some(_), None) => "granted".to_owned(),
            (Some(_), Some(was)) => format!("converted from {was:?}"),
            (None, _) => "covered by what is locked above".to_owned(),
        },
    };
    let shown = request.show(trace);
    trace.add("lock", &format!("{shown}: {came}"));
}

impl Locks for TracedLocks {
    type Owner = Owner;

    fn owner(&self) -> Owner {
        self.0.owner()
    }

    fn lock(&self, owner: &mut Owner, name: LockName, mode: LockMode, wait: bool, duration: Duration) -> Outcome {
        let (request, before) = (Request { name, mode, duration }, held(owner));
        trace::with(|trace| {
            assert_eq!(wait, trace.latched() == 0, "who waits has no latch, who does not wait has one: {name}");
            if wait {
                trace.add("wait", &format!("for {}", request.show(trace)));
            }
        });
        let outcome = self.0.lock(owner, name, mode, wait, duration);
        trace::with(|trace| note(trace, request, &before, &held(owner), outcome));
        outcome
    }

    fn release(&self, owner: &mut Owner, name: LockName) {
        self.0.release(owner, name);
    }

    fn release_all(&self, owner: &mut Owner) {
        trace::with(|trace| trace.add("release", &format!("all {} locks", owner.count())));
        self.0.release_all(owner);
    }

    fn holds(&self, owner: &Owner, name: LockName, mode: LockMode) -> bool {
        self.0.holds(owner, name, mode)
    }

    fn set_txn(&self, owner: &mut Owner, txn: TxnId) {
        self.0.set_txn(owner, txn);
    }

    fn set_work(&self, owner: &mut Owner, work: u64) {
        self.0.set_work(owner, work);
    }
}

impl StackLocks for TracedLocks {
    const ALONE: bool = false;

    fn make(config: LockConfig, clock: &Arc<dyn Clock>) -> Self {
        Self(<LockManager as StackLocks>::make(config, clock))
    }

    fn set_granularity(&self, store: StoreId, granularity: LockGranularity) {
        self.0.set_granularity(store, granularity);
    }
}
