//! The codec: what it writes it reads; its bytes are the documented ones; other bytes never panic.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::classic::change::Undo;
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::classic::wal::record::{Body, DirtyPages, LogRecord, Running};
use crate::log::Lsn;

fn encoded(record: &LogRecord<'_>) -> Vec<u8> {
    let mut bytes = vec![0xee];
    record.encode(&mut bytes);
    bytes.split_off(1)
}

/// The parts of a record: which kind, numbers, bytes.
type Parts = (u8, u32, u64, u64, u64, Vec<u8>, Vec<u8>);

fn parts() -> impl Strategy<Value = Parts> {
    let numbers = (0_u8..12, any::<u32>(), 1_u64.., any::<u64>(), any::<u64>());
    (numbers, vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..40))
        .prop_map(|((a, b, c, d, e), f, g)| (a, b, c, d, e, f, g))
}

/// Gives `check` the record made of these parts.
fn with_record(parts: &Parts, check: impl FnOnce(LogRecord<'_>)) {
    let (kind, page, transaction, previous, number, first, second) = parts;
    let (page, undo_next) = (PageId(*page), Lsn(*number));
    let of_pages: Vec<_> = first.iter().map(|n| DirtyPages::entry(PageId(u32::from(*n)), Lsn(*previous))).collect();
    let running: Vec<_> = first.iter().map(|n| Running::entry(TxnId(u64::from(*n)), Lsn(*previous))).collect();
    let undo = [Undo::Nothing, Undo::Page, Undo::Logical][second.len() % 3];
    let nested = undo != Undo::Logical && first.len() % 2 == 1;
    let body = match kind {
        0..4 => Body::Update { page, store: StoreId(*number as u32), undo, nested, change: first },
        4 => Body::Compensation { page, undo_next, change: first },
        5 => Body::NestedEnd { undo_next },
        6 => Body::Commit,
        7 => Body::End,
        8 => Body::Prepared { global: first, locks: second },
        9 => Body::CheckpointBegin,
        10 => Body::CheckpointPages { begin: undo_next, pages: DirtyPages::new(&of_pages) },
        _ => {
            let transactions = Running::new(&running);
            Body::CheckpointEnd { begin: undo_next, next: TxnId(*transaction), transactions }
        }
    };
    if *kind >= 9 {
        check(LogRecord::of_checkpoint(body));
    } else {
        check(LogRecord { transaction: TxnId(*transaction), previous: Lsn(*previous), body });
    }
}

proptest! {
    #[test]
    fn round_trip(parts in parts()) {
        with_record(&parts, |record| assert_eq!(LogRecord::decode(&encoded(&record)), Ok(record)));
    }

    #[test]
    fn mutated_bytes_are_refused_or_read(parts in parts(), edits in vec((any::<usize>(), any::<u8>()), 0..4),
                                         length in any::<usize>()) {
        with_record(&parts, |record| {
            let mut bytes = encoded(&record);
            for (at, byte) in edits {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            bytes.truncate(length % (bytes.len() + 1));
            if let Ok(record) = LogRecord::decode(&bytes) {
                assert_eq!(encoded(&record), bytes, "nothing of it was left unread");
            }
        });
    }
}

#[test]
fn golden_bytes() {
    let (transaction, previous) = (TxnId(0x0807_0605_0403_0201), Lsn(0x1817_1615_1413_1211));
    let head = |kind: u8| {
        let mut head = vec![kind, 0, 0, 0, 0, 0, 0, 0];
        head.extend((1..9).chain(0x11..0x19));
        head
    };
    let check = |body, expected: Vec<u8>| {
        assert_eq!(encoded(&LogRecord { transaction, previous, body }), expected);
    };
    let mut update = head(1);
    update[1..8].copy_from_slice(&[1, 1, 0, 0x21, 0x22, 0x23, 0x24]);
    update.extend([0x31, 0x32, 0x33, 0x34, 0xaa, 0xbb]);
    let (page, store) = (PageId(0x2423_2221), StoreId(0x3433_3231));
    check(Body::Update { page, store, undo: Undo::Page, nested: true, change: &[0xaa, 0xbb] }, update);
    let mut compensation = head(2);
    compensation[4..8].copy_from_slice(&[0x21, 0x22, 0x23, 0x24]);
    compensation.extend([8, 0, 0, 0, 0, 0, 0, 0, 0xaa]);
    check(Body::Compensation { page, undo_next: Lsn(8), change: &[0xaa] }, compensation);
    check(Body::NestedEnd { undo_next: Lsn(16) }, [head(3), vec![16, 0, 0, 0, 0, 0, 0, 0]].concat());
    check(Body::Commit, head(4));
    check(Body::End, head(5));
    check(Body::Prepared { global: b"g", locks: b"lk" }, [head(6), vec![1, 0, 0, 0, b'g', b'l', b'k']].concat());

    let of_checkpoint = |body| encoded(&LogRecord::of_checkpoint(body));
    let plain = |kind: u8| [vec![kind], vec![0; 23]].concat();
    assert_eq!(of_checkpoint(Body::CheckpointBegin), plain(7));
    let pages = [DirtyPages::entry(PageId(3), Lsn(24)), DirtyPages::entry(PageId(4), Lsn(32))];
    let numbers = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let page = |page: u32, from: u64| [page.to_le_bytes().to_vec(), from.to_le_bytes().to_vec()].concat();
    let body = Body::CheckpointPages { begin: Lsn(40), pages: DirtyPages::new(&pages) };
    assert_eq!(of_checkpoint(body), [plain(8), numbers(&[40]), page(3, 24), page(4, 32)].concat());
    let transactions = [Running::entry(TxnId(5), Lsn(8))];
    let body = Body::CheckpointEnd { begin: Lsn(40), next: TxnId(6), transactions: Running::new(&transactions) };
    assert_eq!(of_checkpoint(body), [plain(9), numbers(&[40, 6, 5, 8])].concat());
}
