//! The paper's Figure 1, on a database: the third waits for the second, which waits for the first, which reads the
//! disk.

use std::any::TypeId;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::{CLASSES, ClassCosts, Closures};
use super::{Parcel, parcel};
use crate::config::{ClassicConfig, ExecutionPolicy};
use crate::io::{DiskModel, MemoryFiles, RealClock, SlowFiles};
use crate::procedure::Transaction;
use crate::stats::{SessionActivity, SessionState};
use crate::{Architecture, Catalog, Config, Database};

const DISK: DiskModel = DiskModel::fixed("slow", 64, 400_000_000);
const ROWS: u64 = 2_000;
/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database of which only the row of parcel 0, and what leads to it, are in memory; and its disk.
fn database(policy: ExecutionPolicy) -> (Database, SlowFiles) {
    let disk = SlowFiles::new(Arc::new(MemoryFiles::new()), DISK, Arc::new(RealClock::new()), 1);
    disk.disk().set_slow(false);
    let classic = ClassicConfig::default()
        .with_page_bytes(4 << 10)
        .with_pool_bytes(4 << 20)
        .with_sessions(4)
        .with_count_executions(true)
        .with_execution(policy);
    let config = Config::default().with_partitions(1).with_architecture(Architecture::Classic).with_classic(classic);
    let open = || {
        let (files, clock) = (Arc::new(disk.clone()), Box::new(RealClock::new()));
        Database::open_files(files, clock, config.clone(), Catalog::new().table::<Parcel>()).unwrap()
    };
    let db = open();
    let load = db.bulk_load().unwrap();
    (0..ROWS).for_each(|id| load.insert(&parcel(id)).unwrap());
    load.finish().unwrap();
    db.close().unwrap();
    let db = open();
    moved(&db, 0, None);
    disk.disk().set_slow(true);
    (db, disk)
}

/// Moves a parcel, and then looks at another one.
fn moved(db: &Database, id: u64, then: Option<u64>) {
    db.transaction(|tx| {
        tx.update::<Parcel, _>(&id, |row| row.moves += 1)?;
        if let Some(then) = then {
            tx.get::<Parcel>(&then)?;
        }
        Ok(())
    })
    .unwrap();
}

/// Waits until a session does something of this kind; which, and what.
fn until(db: &Database, is: impl Fn(&SessionState) -> bool) -> SessionState {
    let started = Instant::now();
    loop {
        if let Some(found) = db.sessions().unwrap().into_iter().find(&is) {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "{:?}", db.sessions());
        std::thread::yield_now();
    }
}

/// The costs of closures.
fn costs(db: &Database) -> [ClassCosts; CLASSES] {
    let engine = db.inner.engine.as_classic().unwrap();
    let closures = engine.procedures().iter().position(|it| it.id == TypeId::of::<Closures>()).unwrap();
    engine.class_costs(closures)
}

#[test]
fn a_chain_of_waits_is_due_to_who_reads_at_its_end() {
    let (db, disk) = database(ExecutionPolicy::Conventional);
    let before = db.counts().classic.unwrap();
    assert!(db.sessions().unwrap().iter().all(|session| session.does == SessionActivity::Idle));
    std::thread::scope(|scope| {
        scope.spawn(|| moved(&db, 0, Some(ROWS - 1)));
        let reader = until(&db, |session| matches!(session.does, SessionActivity::Reads { .. }));
        assert!(reader.to_string().ends_with(" of table `parcel`"), "{reader}");
        // The second changes a row of its own, and the third waits for that.
        scope.spawn(|| {
            db.transaction(|tx| {
                tx.update::<Parcel, _>(&1, |row| row.moves += 1)?;
                tx.update::<Parcel, _>(&0, |row| row.moves += 1)?;
                Ok(())
            })
            .unwrap();
        });
        let second = until(&db, |session| matches!(session.does, SessionActivity::Waits { .. }));
        let SessionActivity::Waits { behind, on, .. } = &second.does else { unreachable!("it waits") };
        assert!(*behind == Some(reader.session) && on.contains("of table `parcel`"), "{second}");
        scope.spawn(|| moved(&db, 1, None));
        let behind_second = Some(second.session);
        let is_third = |session: &SessionState| match session.does {
            SessionActivity::Waits { behind, .. } => behind == behind_second,
            _ => false,
        };
        until(&db, is_third);
    });
    disk.disk().set_slow(false);
    let waits = db.explain_waits().unwrap();
    assert_eq!(waits.len(), 2, "{waits:?}");
    for wait in &waits {
        // All of it, but for the moments before the read and after it.
        assert!(wait.disk_ns > wait.waited_ns * 9 / 10, "{wait}");
        let read = wait.disk_read.as_ref().unwrap();
        assert!(read.of.contains("parcel") && wait.to_string().contains("was reading page"), "{wait}");
    }
    let classic = db.counts().classic.unwrap().since(&before);
    assert_eq!(classic.lock_waits, 2);
    assert!(classic.lock_waited_for_disk_ns > classic.lock_waited_ns * 9 / 10, "{classic:?}");
    assert!(classic.lock_waited_ns > 2 * 200_000_000, "{classic:?}");
    // The waits are part of the cost of the execution that read, and not of theirs.
    let [[in_memory, from_disk], ..] = costs(&db);
    assert_eq!((from_disk.executions, in_memory.executions), (2, 2), "with the one before");
    assert!(from_disk.cost_ns > DISK.base_ns + classic.lock_waited_for_disk_ns, "{from_disk:?}, {classic:?}");
    assert!(in_memory.cost_ns < classic.lock_waited_ns, "{in_memory:?}, {classic:?}");
}

#[test]
fn a_session_that_fetches_is_seen_to_read() {
    for policy in [ExecutionPolicy::TwoStage, ExecutionPolicy::Optimistic] {
        let (db, disk) = database(policy);
        std::thread::scope(|scope| {
            scope.spawn(|| moved(&db, 0, Some(ROWS - 1)));
            let reader = until(&db, |session| matches!(session.does, SessionActivity::Reads { .. }));
            assert!(reader.to_string().ends_with(" of table `parcel`"), "{reader}");
            // It holds no lock meanwhile.
            disk.disk().set_slow(false);
            moved(&db, 0, None);
        });
        let waits = db.explain_waits().unwrap();
        assert!(waits.iter().all(|wait| wait.disk_ns == 0), "{policy:?}: {waits:?}");
    }
}
