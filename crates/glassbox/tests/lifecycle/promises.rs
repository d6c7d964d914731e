//! What a procedure promises by `ABORTS`, and what happens when it cannot be kept.

use glassbox::io::MemoryFiles;
use glassbox::{Aborts, Architecture, Declared, Error, KeySet, Procedure, Stop, Transaction};
use serde::{Deserialize, Serialize};

use crate::{Item, engines, insert, items, open};

/// Inserts so many items on the partition of the first, and promises never to abort.
#[derive(Serialize, Deserialize)]
pub struct Flood {
    items: u32,
}

impl Procedure for Flood {
    const NAME: &'static str = "flood";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        (0..self.items).for_each(|id| set.insert::<Item>(&(1000 + id)));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        (0..self.items).try_for_each(|id| tx.insert(&Item { id: 1000 + id, count: 0 }))
    }
}

#[test]
fn changes_that_no_log_record_takes_stop_only_a_procedure_that_promises_never_to_abort() {
    for (engine, config) in engines() {
        let files = MemoryFiles::new();
        let db = open(&files, &config).unwrap();
        insert(&db, 0..10);
        // A transaction that may be undone is refused, and the database goes on.
        let flood = Flood { items: 3000 };
        let many = db.transaction(|tx| flood.run(tx));
        if config.architecture == Architecture::Classic {
            // Each change is a record there.
            many.unwrap();
            assert_eq!(items(&db, 1000..4000), 3000);
            continue;
        }
        let text = many.unwrap_err().to_string();
        assert!(text.contains("enlarge log_buffer_bytes or segment_bytes"), "{engine}: {text}");
        assert_eq!(items(&db, 1000..4000), 0, "{engine}: undone");
        let error = db.call(&flood).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Stopped { .. }), "{engine}: {text}");
        let words = ["enlarge log_buffer_bytes or segment_bytes", "promise `Anytime`", "open it again"];
        assert!(words.iter().all(|words| text.contains(words)), "{engine}: {text}");
        assert!(db.call(&Flood { items: 1 }).is_err(), "{engine}");
        let _ = db.close();
        let again = open(&files, &config).unwrap();
        assert_eq!((items(&again, 0..10), items(&again, 1000..4000)), (10, 0), "{engine}");
        again.call(&Flood { items: 10 }).unwrap();
    }
}
