//! Random requests that never wait against a model that is nothing but a list of who holds what.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::{Duration, LockConfig, LockGranularity, LockManager, LockMode, LockName, Locks, Outcome, Owner};
use super::modes::goes;
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::io::ManualClock;

/// Who holds what, intents among it.
#[derive(Default)]
struct Model(Vec<(usize, LockName, LockMode)>);

impl Model {
    fn held(&self, owner: usize, name: LockName) -> Option<LockMode> {
        self.0.iter().find(|held| (held.0, held.1) == (owner, name)).map(|held| held.2)
    }

    /// The names above, from the volume down.
    fn above(name: LockName) -> Vec<LockName> {
        match name {
            LockName::Volume => vec![],
            LockName::Store(_) => vec![LockName::Volume],
            LockName::Page(store, _) | LockName::End(store) => vec![LockName::Volume, LockName::Store(store)],
            LockName::Record(store, rid) => {
                vec![LockName::Volume, LockName::Store(store), LockName::Page(store, rid.page)]
            }
        }
    }

    fn take(&mut self, owner: usize, name: LockName, mode: LockMode, keep: bool) -> bool {
        let held = self.held(owner, name);
        let wanted = held.map_or(mode, |held| held.supremum(mode));
        if held == Some(wanted) {
            return true;
        }
        let mut others = self.0.iter().filter(|held| held.1 == name && held.0 != owner);
        let granted = others.all(|other| goes(wanted, other.2));
        if granted && keep {
            self.0.retain(|held| (held.0, held.1) != (owner, name));
            self.0.push((owner, name, wanted));
        }
        granted
    }

    fn lock(&mut self, owner: usize, name: LockName, mode: LockMode, keep: bool) -> bool {
        if self.held(owner, name).is_some_and(|held| held.covers(mode)) {
            return true;
        }
        let above = Self::above(name);
        // What the manager does not look at: the volume, when there is an intent on the store.
        let sufficient = |held: LockMode| held.covers(mode.intent());
        let from = match above.get(1).and_then(|store| self.held(owner, *store)) {
            Some(held) if sufficient(held) || held.covers_below(mode) => 1,
            _ => 0,
        };
        for level in &above[from..] {
            if self.held(owner, *level).is_some_and(|held| held.covers_below(mode)) {
                return true;
            }
            if !self.take(owner, *level, mode.intent(), true) {
                return false;
            }
            if self.held(owner, *level).is_some_and(|held| held.covers_below(mode)) {
                return true;
            }
        }
        self.take(owner, name, mode, keep)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Lock(usize, LockName, LockMode, bool),
    Release(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let store = || (1..3u32).prop_map(StoreId);
    let rid = || (1..3u32, 0..2u16).prop_map(|(page, slot)| Rid { page: PageId(page), slot });
    let name = prop_oneof![
        1 => Just(LockName::Volume),
        3 => store().prop_map(LockName::Store),
        2 => store().prop_map(LockName::End),
        4 => (store(), rid()).prop_map(|(store, rid)| LockName::Page(store, rid.page)),
        20 => (store(), rid()).prop_map(|(store, rid)| LockName::Record(store, rid)),
    ];
    let mode = prop::sample::select(LockMode::ALL.to_vec());
    prop_oneof![
        9 => (0..4usize, name, mode, any::<bool>())
            .prop_map(|(owner, name, mode, keep)| Step::Lock(owner, name, mode, keep)),
        1 => (0..4usize).prop_map(Step::Release),
    ]
}

fn sorted(owner: &Owner) -> Vec<(LockName, LockMode)> {
    let mut locks: Vec<_> = owner.locks().collect();
    locks.sort();
    locks
}

proptest! {
    #[test]
    fn requests_are_granted_as_by_the_model(steps in prop::collection::vec(step(), 1..60)) {
        let config = LockConfig { partitions: 2, escalate_store_at: 0, ..LockConfig::default() };
        let manager = LockManager::new(config, Arc::new(ManualClock::default()));
        let mut owners: Vec<Owner> = (0..4).map(|_| manager.owner()).collect();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Lock(owner, name, mode, keep) => {
                    let duration = if keep { Duration::Commit } else { Duration::Momentary };
                    let outcome = manager.lock(&mut owners[owner], name, mode, false, duration);
                    let expected = model.lock(owner, name, mode, keep);
                    let asked = (owner, name, mode);
                    prop_assert_eq!(outcome == Outcome::Granted, expected, "{:?} got {:?}", asked, outcome);
                    prop_assert!(!keep || !expected || manager.holds(&owners[owner], name, mode));
                }
                Step::Release(owner) => {
                    manager.release_all(&mut owners[owner]);
                    model.0.retain(|held| held.0 != owner);
                }
            }
            for (number, owner) in owners.iter().enumerate() {
                let own = model.0.iter().filter(|held| held.0 == number);
                let mut held: Vec<_> = own.map(|held| (held.1, held.2)).collect();
                held.sort();
                prop_assert_eq!(sorted(owner), held);
            }
        }
        owners.iter_mut().for_each(|owner| manager.release_all(owner));
        prop_assert_eq!(manager.names(), 0);
    }

    #[test]
    fn what_one_holds_no_other_disturbs(
        steps in prop::collection::vec(step(), 1..60),
        granularity in prop::sample::select(vec![
            LockGranularity::Record,
            LockGranularity::Page,
            LockGranularity::Store,
        ]),
        lock_pages in any::<bool>(),
        escalate_at in 0..4u32,
    ) {
        let config = LockConfig {
            partitions: 2, granularity, lock_pages, escalate_store_at: escalate_at, escalate_page_at: escalate_at / 2,
            ..LockConfig::default()
        };
        let manager = LockManager::new(config, Arc::new(ManualClock::default()));
        let mut owners: Vec<Owner> = (0..4).map(|_| manager.owner()).collect();
        // What was granted, whatever the manager locked for it.
        let mut granted: Vec<(usize, LockName, LockMode)> = Vec::new();
        for step in steps {
            match step {
                Step::Lock(owner, name, mode, keep) => {
                    let duration = if keep { Duration::Commit } else { Duration::Momentary };
                    if manager.lock(&mut owners[owner], name, mode, false, duration) != Outcome::Granted {
                        continue;
                    }
                    for other in granted.iter().filter(|other| other.0 != owner) {
                        let asked = (name, mode);
                        prop_assert!(agree(asked, (other.1, other.2)), "{}: {:?} beside {:?}", owner, asked, other);
                    }
                    if keep {
                        granted.push((owner, name, mode));
                    }
                }
                Step::Release(owner) => {
                    manager.release_all(&mut owners[owner]);
                    granted.retain(|held| held.0 != owner);
                }
            }
        }
        owners.iter_mut().for_each(|owner| manager.release_all(owner));
        prop_assert_eq!(manager.names(), 0);
    }
}

/// Whether two may hold these at the same time: neither writes what the other reads or writes.
pub(super) fn agree(a: (LockName, LockMode), b: (LockName, LockMode)) -> bool {
    let reads = |mode| matches!(mode, LockMode::S | LockMode::SIX | LockMode::U | LockMode::X);
    let disturbs = |a: LockMode, b: LockMode| a == LockMode::X && reads(b);
    let related = a.0 == b.0 || Model::above(a.0).contains(&b.0) || Model::above(b.0).contains(&a.0);
    !(related && (disturbs(a.1, b.1) || disturbs(b.1, a.1)))
}
