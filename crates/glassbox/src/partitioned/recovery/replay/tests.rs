//! A partition is not looked at while another one's thread runs a call on it.

use serde::{Deserialize, Serialize};

use crate::executed::TableUsage;
use crate::io::ManualClock;
use crate::partitioned::log_records::command::digest_of_changes;
use crate::partitioned::log_records::values::UPDATE;
use crate::partitioned::recovery::replay::*;
use crate::partitioned::shard::Lookup;
use crate::partitioned::storage::any_table::AnyTable;
use crate::partitioned::storage::indexes::NotBuilt;
use crate::partitioned::storage::memory::RowId;
use crate::procedure::{Declared, KeySet, Procedure, Stop, Transaction};
use crate::record::IndexSchema;

static RUNS: AtomicBool = AtomicBool::new(false);
static WAS_LOOKED_AT: AtomicBool = AtomicBool::new(false);

/// Notices a call that runs while it is asked.
struct Table {
    is_elsewhere: bool,
}

impl AnyTable for Table {
    fn apply<'a>(&mut self, _: u8, bytes: &'a [u8], _: Mine<'_>, _: &mut Ahead) -> Result<&'a [u8], BadLogRecord> {
        Ok(&bytes[bytes.len()..])
    }

    fn ask_for_place<'a>(&self, _: u8, bytes: &'a [u8], _: Mine<'_>) -> Option<(Option<Asked<'a>>, &'a [u8])> {
        for _ in 0..if self.is_elsewhere { 40 } else { 0 } {
            WAS_LOOKED_AT.fetch_or(RUNS.load(Ordering::SeqCst), Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
        }
        Some((None, &bytes[bytes.len()..]))
    }

    fn ask_for_row(&self, _: Asked<'_>) -> Option<RowId> {
        unreachable!("no key was given")
    }

    fn begin_snapshot(&mut self) -> u64 {
        unreachable!("only replay is tried")
    }

    fn snapshot_slice(&mut self, _: usize, _: &mut Vec<u8>) -> bool {
        unreachable!("only replay is tried")
    }

    fn end_snapshot(&mut self) {
        unreachable!("only replay is tried")
    }

    fn load(&mut self, _: &[u8], _: Mine<'_>) -> Result<u64, BadLogRecord> {
        unreachable!("only replay is tried")
    }

    fn add_usage(&self, _: &mut TableUsage, _: bool) {
        unreachable!("only replay is tried")
    }

    fn defer_unique(&mut self, _: &dyn Fn(&IndexSchema) -> bool) -> bool {
        unreachable!("only replay is tried")
    }

    fn build_deferred(&mut self) -> Result<(), NotBuilt> {
        unreachable!("only replay is tried")
    }

    fn verify(&self) -> Result<(), String> {
        unreachable!("only replay is tried")
    }

    fn digest(&self) -> u64 {
        unreachable!("only replay is tried")
    }

    fn stored(&self, _: usize, _: usize, _: &mut Vec<u8>) -> usize {
        unreachable!("only replay is tried")
    }

    fn store_all(&self, _: usize, _: &mut dyn FnMut(Vec<u8>)) {
        unreachable!("only replay is tried")
    }

    fn is_replicated(&self) -> bool {
        unreachable!("only replay is tried")
    }

    fn find_stored(&self, _: &Lookup, _: &mut Vec<u8>) -> bool {
        unreachable!("only replay is tried")
    }

    fn allows_keys(&self, _: &[u8], _: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        unreachable!("only replay is tried")
    }
}

/// On all partitions.
#[derive(Serialize, Deserialize)]
struct Everywhere;

impl Procedure for Everywhere {
    const NAME: &'static str = "everywhere";
    type Output = ();

    fn declare(&self, _: &mut impl KeySet) -> Declared {
        Declared::Unknown
    }

    fn run<T: Transaction>(&self, _: &mut T) -> Result<(), Stop> {
        Ok(())
    }
}

/// In place of the procedure's own: takes its time.
fn run(_: Hold<'_>, _: &[u8], _: CommandHead, _: &dyn Clock) -> Result<(), ReplayError> {
    RUNS.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(20));
    RUNS.store(false, Ordering::SeqCst);
    Ok(())
}

#[test]
fn who_looks_ahead_does_not_meet_a_call_on_several_partitions() {
    let cell = |is_elsewhere| Cell::new(Partition::new(vec![Some(Box::new(Table { is_elsewhere }))], 0));
    let context = ReplayContext {
        cells: &[cell(false), cell(true)],
        tables: &[0],
        conversions: &[],
        procedures: &[Some(ProcedureKind { run, ..ProcedureKind::of::<Everywhere>() })],
        clock: &ManualClock::default(),
        all_partitions: false,
    };
    let call = [&[COMMAND_WITHOUT_DIGEST][..], &[0; 18]].concat();
    let changes = [VALUES, UPDATE, 0, 0];
    let ((), count) = replay(&context, |push| {
        push(Lsn(1), &call);
        push(Lsn(2), &changes);
    })
    .unwrap();
    assert_eq!(count, 2);
    assert!(!WAS_LOOKED_AT.load(Ordering::SeqCst));
}

/// The log of earlier code is replayed as it was: nothing is known of what its calls changed.
#[test]
fn only_a_call_with_a_digest_is_compared() {
    let context = ReplayContext {
        cells: &[Cell::new(Partition::new(Vec::new(), 0))],
        tables: &[],
        conversions: &[],
        procedures: &[Some(ProcedureKind::of::<Everywhere>())],
        clock: &ManualClock::default(),
        all_partitions: false,
    };
    let replayed = |kind: u8, digest: &[u8]| {
        let call = [&[kind][..], &[0; 18], digest].concat();
        replay(&context, |push| push(Lsn(1), &call)).map_err(|failed| failed.error)
    };
    let of_nothing = digest_of_changes(&[VALUES]).to_le_bytes();
    assert!(replayed(COMMAND_WITHOUT_DIGEST, &[]).is_ok());
    assert!(replayed(COMMAND, &of_nothing).is_ok());
    let differs = replayed(COMMAND, &[7; 8]).map(drop);
    assert!(matches!(differs, Err(ReplayError::ProcedureDiffers { version: 1, .. })), "{differs:?}");
    let short = replayed(COMMAND, &[]).map(drop);
    assert!(matches!(short, Err(ReplayError::Foreign(_))), "{short:?}");
}
