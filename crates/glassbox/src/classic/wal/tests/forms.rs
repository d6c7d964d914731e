//! The stripped forms do to pages what the working form does.

use std::collections::BTreeMap;

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::pages::Pages;
use crate::classic::page::{self, PageKind};
use crate::classic::testing::MemoryPages;
use crate::classic::wal::forms::{Discarded, Logs, NoLog};
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::TransactionLog;
use crate::io::Dice;
use crate::log::Lsn;

/// Some transactions with savepoints, nested actions, commits and aborts; the pages, and the LSN of each.
fn run<L: Logs>(logs: &L) -> BTreeMap<PageId, (Lsn, Vec<u8>)> {
    let pages = MemoryPages::new(512);
    let mut log = TransactionLog::new(logs.device().unwrap(), TransactionTable::new(1).slot().unwrap());
    for id in 0..4 {
        let change = Change::Format { kind: PageKind::Heap, store: StoreId(id), body: &[] };
        log.change(&mut pages.fix_new(PageId(id)).unwrap(), change, Undo::Nothing).unwrap();
    }
    logs.wait(log.commit().unwrap()).unwrap();
    let mut dice = Dice(7);
    let mut roll = |below| dice.below(below) as u32;
    let mut savepoint = log.savepoint();
    for n in 0..500_u32 {
        let (id, at) = (PageId(roll(4)), 24 + roll(100) as usize);
        let nested = (roll(6) == 0).then(|| log.begin_nested());
        let mut page = pages.fix_exclusive(id).unwrap();
        let (old, new) = (page[at..at + 4].to_vec(), n.to_le_bytes());
        log.change(&mut page, Change::Bytes { at: at as u16, old: &old, new: &new }, Undo::Page).unwrap();
        drop(page);
        match (nested, roll(12)) {
            // Its bytes stay, so whatever of this transaction lies below must stay too.
            (Some(nested), _) => {
                log.end_nested(nested).unwrap();
                logs.wait(log.commit().unwrap()).unwrap();
                savepoint = log.savepoint();
            }
            (None, 0) => {
                log.abort(&pages, &mut ()).unwrap();
                savepoint = log.savepoint();
            }
            (None, 1) => log.roll_back(savepoint, &pages, &mut ()).unwrap(),
            (None, 2) => savepoint = log.savepoint(),
            _ => {}
        }
    }
    log.abort(&pages, &mut ()).unwrap();
    let contents = pages.contents().into_iter();
    contents
        .map(|(id, mut bytes)| {
            let lsn = page::lsn(&bytes);
            page::set_lsn(&mut bytes, Lsn::NONE);
            (id, (lsn, bytes))
        })
        .collect()
}

#[test]
fn all_forms_make_the_same_pages() {
    let full = run(&Discarded::default());
    let stamped = run(&NoLog::<true>::default());
    let bare = run(&NoLog::<false>::default());
    let bytes = |pages: &BTreeMap<PageId, (Lsn, Vec<u8>)>| pages.values().map(|it| it.1.clone()).collect::<Vec<_>>();
    assert_eq!(bytes(&full), bytes(&stamped));
    assert_eq!(bytes(&full), bytes(&bare));
    assert!(bytes(&full).iter().any(|page| page[24..].iter().any(|byte| *byte != 0)), "not all was undone");
    assert!(full.values().zip(stamped.values()).all(|(full, stamped)| full.0 > stamped.0 && stamped.0 > Lsn::NONE));
    // Without LSNs each page counts its own changes, which are fewer than there are positions.
    assert!(bare.values().zip(stamped.values()).all(|(bare, stamped)| Lsn::NONE < bare.0 && bare.0 <= stamped.0));
}
