//! A cluster whose members are threads of this process: calls and clients that it refuses, and what goes on.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use glassbox::{Catalog, Declared, Error, KeySet, Procedure, Record, Stop, Transaction};
use glassbox_cluster::run::Processes;
use glassbox_cluster::{MAX_ARGUMENT_BYTES, SchedulerKind, SchemeKind};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id)]
struct Item {
    id: u32,
    bytes: u32,
}

/// Inserts a row, and returns this number of bytes; its arguments have padding.
#[derive(serde::Serialize, serde::Deserialize)]
struct Insert {
    id: u32,
    padding: Vec<u8>,
    returns: u32,
}

impl Procedure for Insert {
    const NAME: &'static str = "insert";
    type Output = Vec<u8>;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Item>(&self.id);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Vec<u8>, Stop> {
        tx.insert(&Item { id: self.id, bytes: self.returns })?;
        Ok(vec![7; self.returns as usize])
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Has(u32);

impl Procedure for Has {
    const NAME: &'static str = "has";
    type Output = bool;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.read::<Item>(&self.0);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        Ok(tx.get::<Item>(&self.0)?.is_some())
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Item>().distributed_procedure::<Insert>().distributed_procedure::<Has>()
}

/// Runs `test` on a cluster of one coordinator and two partitions.
fn on_a_cluster(scheme: SchemeKind, test: impl FnOnce(&Processes)) {
    let listeners: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let nodes = listeners.iter().map(|it| it.local_addr().unwrap()).collect();
    let cluster = Processes::new(1, scheme, 2, nodes);
    let ended = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        for listener in listeners {
            let cluster = &cluster;
            let ended = Arc::clone(&ended);
            let ends = move || ended.load(Ordering::Relaxed);
            scope.spawn(move || cluster.serve(listener, None, catalog(), |_| Ok(()), ends).unwrap());
        }
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut operator = cluster.operator(&catalog(), None, Box::new(|_| Ok(()))).unwrap();
            operator.begin(cluster.shape().configuration(), PATIENCE).unwrap();
            test(&cluster);
        }));
        ended.store(true, Ordering::Relaxed);
        tested.unwrap_or_else(|why| std::panic::resume_unwind(why));
    });
}

const SCHEMES: [SchemeKind; 3] =
    [SchemeKind::Speculation, SchemeKind::Locking, SchemeKind::Deterministic(SchedulerKind::Vll)];

/// Case 41: a call of 20 MB is refused before it is sent, an output of 20 MB ends with an error that says whether the
/// call was committed, and the client's other calls go on.
#[test]
fn calls_and_outputs_over_the_limits_end_with_an_error_that_says_what_was_changed() {
    for scheme in SCHEMES {
        on_a_cluster(scheme, |cluster| {
            let mut client = cluster.connect(0, catalog(), PATIENCE).unwrap();
            let bytes = 20_000_000;
            match client.call(Insert { id: 1, padding: vec![1; bytes], returns: 0 }) {
                Err(Error::ArgumentsTooLarge { bytes: found, limit }) => {
                    assert!(found > bytes as u64 && limit == MAX_ARGUMENT_BYTES as u64, "{scheme}: {found}, {limit}");
                }
                other => panic!("{scheme}: {:?}", other.map(|it| it.len())),
            }
            assert!(!client.call(Has(1)).unwrap(), "{scheme}: nothing was changed");
            let fits = Insert { id: 2, padding: vec![1; MAX_ARGUMENT_BYTES - 100], returns: 1 };
            assert_eq!(client.call(fits).unwrap(), [7], "{scheme}");
            let waiting = client.submit(Has(2)).unwrap();
            match client.call(Insert { id: 3, padding: Vec::new(), returns: bytes as u32 }) {
                Err(error @ Error::OutputTooLarge { is_committed: true, .. }) => {
                    assert!(error.to_string().contains("was committed"), "{error}");
                }
                other => panic!("{scheme}: {:?}", other.map(|it| it.len())),
            }
            assert!(client.wait(waiting).unwrap(), "{scheme}: another call of the connection");
            assert!(client.call(Has(3)).unwrap(), "{scheme}: the call was committed");
        });
    }
}

/// Case 42: of two clients with one number the second one is refused, and the first one goes on. After the first one
/// has ended, its number is free.
#[test]
fn a_second_client_with_the_same_number_is_refused_and_the_first_one_goes_on() {
    on_a_cluster(SchemeKind::Speculation, |cluster| {
        let connect = || cluster.connect(77, catalog(), PATIENCE);
        let mut first = connect().unwrap();
        for id in 0..3 {
            let refused = connect().unwrap_err();
            assert!(refused.contains("client 77 is connected already"), "{refused}");
            first.call(Insert { id, padding: Vec::new(), returns: 0 }).unwrap();
        }
        drop(first);
        let mut next = connect().unwrap();
        assert!(next.call(Has(2)).unwrap());
        drop(next);
        // Both at once: one of them is let in.
        let let_in = std::thread::scope(|scope| {
            let both: Vec<_> = (0..2).map(|_| scope.spawn(connect)).collect();
            // A client that was let in stays until the other one has ended, too.
            let both: Vec<_> = both.into_iter().map(|it| it.join().unwrap()).collect();
            both.into_iter().filter_map(Result::ok).map(|mut it| it.call(Has(2)).unwrap()).count()
        });
        assert_eq!(let_in, 1);
    });
}
