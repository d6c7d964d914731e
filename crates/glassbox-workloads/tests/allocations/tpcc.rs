//! Procedures and inputs allocate nothing: only the database below may.

use std::ops::ControlFlow;

use crate::common::loaded;
use crate::counting::{allocations, watched};
use glassbox::procedure::{Procedure, ReadWriteSet, Stop, Transaction};
use glassbox::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp};
use glassbox_testing::{ModelDatabase, ModelTransaction};
use glassbox_workloads::tpcc::{Call, Inputs, Kind, Scale, Settings};

/// Looks away while the model works, and back while it calls the procedure's closures.
struct LookAway<'a, 'b>(&'a mut ModelTransaction<'b>);

impl Transaction for LookAway<'_, '_> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        watched(false, || self.0.get(key))
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        watched(false, || self.0.update(key, |row| watched(true, || change(row))))
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        watched(false, || self.0.insert(row))
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        watched(false, || self.0.delete::<R>(key))
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        watched(false, || self.0.scan(bounds, direction, |row| watched(true, || visit(row))))
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mut visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        watched(false, || self.0.scan_index::<I>(bounds, direction, |row| watched(true, || visit(row))))
    }

    fn now(&mut self) -> Timestamp {
        self.0.now()
    }

    fn random(&mut self) -> u64 {
        self.0.random()
    }
}

/// Runs procedures, watched; allocations of each kind.
struct Watch<'a>(&'a mut ModelDatabase, [u64; 5]);

impl Call for Watch<'_> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        let before = allocations();
        // An abort is the end of it, like any other.
        let _ = self.0.transaction(|tx| {
            let mut tx = LookAway(tx);
            watched(true, || {
                procedure.declare(&mut ReadWriteSet::new(2));
                procedure.run(&mut tx).map(drop)
            })
        });
        self.1[kind as usize] += allocations() - before;
    }
}

#[test]
fn procedures_and_inputs_allocate_nothing() {
    let scale = Scale::small(2);
    let mut database = loaded(&scale, 1, 1);
    let mut inputs = Inputs::new(&Settings { load_seed: 1, ..Settings::new(scale) }, 0);
    let mut watch = Watch(&mut database, [0; 5]);
    for _ in 0..2_000 {
        let before = allocations();
        let input = watched(true, || inputs.next());
        assert_eq!(allocations(), before, "drawing {:?}", input.kind());
        input.give(&mut watch);
    }
    assert_eq!(watch.1, [0; 5]);
    // The watch itself works.
    let before = allocations();
    drop(watched(true, || std::hint::black_box(Vec::<u8>::with_capacity(100))));
    assert_eq!(allocations(), before + 1);
}
