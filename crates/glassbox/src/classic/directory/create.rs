//! Making a store.

use super::change;
use super::change::DirectoryChange;
use super::entry::{StoreEntry, StoreKind, StoreName};
use super::find;
use super::volume::{self, VOLUME_PAGE, VolumeIdentity};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::heap::HeapFile;
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::PageKind;
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::space::Space;
use crate::classic::tree;
use crate::error::Error;

/// Makes a heap file and its entry, in a nested action. See [`create_store`].
///
/// # Errors
/// As for [`create_store`].
pub(crate) fn create_heap<P: Pages, S: Space, J: PageLog>(
    pages: &P,
    space: &S,
    journal: &mut J,
    name: &[u8],
    record_width: u16,
) -> Result<StoreEntry, Error> {
    let kind = StoreKind::Heap { record_width };
    create_store(pages, space, journal, name, kind, &mut |journal, store| {
        HeapFile::create(pages, space, journal, store)
    })
}

/// Makes a tree and its entry, in a nested action. See [`create_store`].
///
/// # Errors
/// As for [`create_store`].
///
/// # Panics
/// When the store would be none of a tree.
pub(crate) fn create_tree<P: Pages, S: Space, J: PageLog>(
    pages: &P,
    space: &S,
    journal: &mut J,
    name: &[u8],
    kind: StoreKind,
) -> Result<StoreEntry, Error> {
    let StoreKind::Tree { key_width, .. } = kind else { panic!("{kind:?} is no tree") };
    create_store(pages, space, journal, name, kind, &mut |journal, store| {
        tree::create(pages, space, journal, store, key_width.into())
    })
}

/// Makes a store of the next number: calls `make_root`, which makes and returns its root, and adds the entry. That is
/// one nested action, so the store stays even if the transaction does not commit. Others wait for it who look for a
/// store in the pages.
///
/// # Errors
/// When the name is taken, empty or too long; when `make_root` fails, the volume is full, the directory is damaged or
/// cannot be read, or the log does not take it. The transaction must be rolled back then.
pub(crate) fn create_store<P: Pages, S: Space, J: PageLog>(
    pages: &P,
    space: &S,
    journal: &mut J,
    name: &[u8],
    kind: StoreKind,
    make_root: &mut dyn FnMut(&mut J, StoreId) -> Result<PageId, Error>,
) -> Result<StoreEntry, Error> {
    let name = StoreName::new(name).ok_or_else(|| {
        Error::Catalog(format!("{:?} cannot name a store: 1 to 60 bytes can", String::from_utf8_lossy(name)))
    })?;
    // The first page stays latched, so that only one store is made at a time.
    let mut first = Some(pages.fix_exclusive(VOLUME_PAGE)?);
    let mut last = None;
    let mut number = 1;
    loop {
        let page = last.as_ref().or(first.as_ref()).expect("the first page is fixed");
        let at = page.id();
        volume::check(at, page)?;
        for index in 0..change::entries(page) {
            let entry = find::decode(at, page, index)?;
            if entry.name == name {
                return Err(Error::Catalog(format!("there is a store named {name:?} already")));
            }
            number = entry.store.0 + 1;
        }
        match change::next(page) {
            PageId::NONE => break,
            next => last = Some(pages.fix_exclusive(next)?),
        }
    }
    let begun = journal.begin_nested();
    let root = make_root(journal, StoreId(number))?;
    let entry = StoreEntry { store: StoreId(number), root, kind, name };
    let page = last.as_mut().or(first.as_mut()).expect("the first page is fixed");
    if change::entries(page) < change::max_entries(page.len()) {
        add(journal, page, &entry)?;
        journal.end_nested(begun)?;
    } else {
        let mut new = extend(pages, space, journal, page)?;
        add(journal, &mut new, &entry)?;
        journal.end_nested(begun)?;
    }
    Ok(entry)
}

fn add<J: PageLog>(journal: &mut J, page: &mut impl ExclusivePage, entry: &StoreEntry) -> Result<(), Error> {
    let index = change::entries(page) as u16;
    let add = DirectoryChange::Add { index, entry: &entry.encode() };
    journal.change(page, Change::Directory(add), Undo::Page)
}

/// Makes another page of the directory, and returns it fixed.
fn extend<'a, P: Pages, S: Space, J: PageLog>(
    pages: &'a P,
    space: &S,
    journal: &mut J,
    last: &mut P::Exclusive<'_>,
) -> Result<P::Exclusive<'a>, Error> {
    let next = space.allocate(journal)?;
    let mut page = pages.fix_new(next)?;
    let body = VolumeIdentity::read(last)?.body();
    let format = Change::Format { kind: PageKind::Volume, store: StoreId::VOLUME, body: &body };
    journal.change(&mut page, format, Undo::Page)?;
    journal.change(last, Change::Directory(DirectoryChange::Link { next }), Undo::Page)?;
    Ok(page)
}
