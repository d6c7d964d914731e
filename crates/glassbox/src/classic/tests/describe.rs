//! Pages, locks and changes in words.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::classic::change::Change;
use crate::classic::directory::{StoreEntry, StoreKind};
use crate::classic::heap::{HeapChange, ListChange, next_range};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::lock::LockName;
use crate::classic::page::{self, HEADER_BYTES, PageKind};
use crate::classic::space::MapChange;
use crate::classic::tree::NodeChange;

/// What stores are called, and what was last seen to be on pages.
#[derive(Clone, Default)]
pub struct Names {
    stores: BTreeMap<StoreId, StoreEntry>,
    seen: RefCell<BTreeMap<PageId, StoreId>>,
}

impl Names {
    pub fn new(entries: Vec<StoreEntry>) -> Self {
        let stores = entries.into_iter().map(|entry| (entry.store, entry)).collect();
        Self { stores, seen: RefCell::default() }
    }

    /// `customer` for a table; `customer tree` for its primary key's, `by_city tree` for an index's.
    fn store(&self, store: StoreId) -> String {
        let Some(entry) = self.stores.get(&store) else { return format!("store {store}") };
        let name = std::str::from_utf8(entry.name.as_bytes()).expect("names of tables are text");
        match (entry.kind, name.split_once('/')) {
            (StoreKind::Tree { .. }, Some((table, ""))) => format!("{table} tree"),
            (StoreKind::Tree { .. }, Some((_, index))) => format!("{index} tree"),
            _ => name.to_owned(),
        }
    }

    /// A page that has these bytes.
    pub fn page(&self, id: PageId, bytes: &[u8]) -> String {
        let store = page::store(bytes);
        self.seen.borrow_mut().insert(id, store);
        match page::kind(bytes) {
            Some(PageKind::Volume) => "the directory".to_owned(),
            Some(PageKind::Map) => "the space map".to_owned(),
            Some(PageKind::Heap) => format!("{} page {id}", self.store(store)),
            Some(PageKind::HeapPages) => format!("{} list of pages {id}", self.store(store)),
            Some(PageKind::Node) => {
                let is_root = self.stores.get(&store).is_some_and(|entry| entry.root == id);
                let what = match bytes[HEADER_BYTES] {
                    u8::MAX => "former node",
                    _ if is_root => "root",
                    0 => "leaf",
                    _ => "node",
                };
                format!("{} {what} {id}", self.store(store))
            }
            _ => format!("free page {id}"),
        }
    }

    /// The store of a page that was fixed.
    pub fn store_on(&self, page: PageId) -> StoreId {
        self.seen.borrow().get(&page).copied().unwrap_or(StoreId::VOLUME)
    }

    pub fn lock(&self, name: LockName) -> String {
        match name {
            LockName::Volume => "the volume".to_owned(),
            LockName::Store(store) => self.store(store),
            LockName::Page(store, page) => format!("{} page {page}", self.store(store)),
            LockName::Record(store, rid) => format!("{} record {rid}", self.store(store)),
            LockName::End(store) => format!("the end of {}", self.store(store)),
        }
    }

    /// An entry of a node: a key and its record, or a separator and its child.
    fn entry(&self, store: StoreId, entry: &[u8]) -> String {
        let Some(StoreEntry { kind: StoreKind::Tree { key_width, .. }, .. }) = self.stores.get(&store) else {
            return format!("{entry:?}");
        };
        let (key, rest) = entry.split_at(usize::from(*key_width));
        match NodeChange::leaf_entry(entry) {
            Some((_, rid)) if rest.len() == Rid::WIDTH => format!("key {} of record {rid}", show_key(key)),
            _ => {
                let child = u32::from_le_bytes(rest.try_into().expect("the number of a page"));
                format!("child {child} from key {} on", show_key(key))
            }
        }
    }
}

/// A key of columns of type `u32`.
fn show_key(key: &[u8]) -> String {
    let (columns, _) = key.as_chunks::<4>();
    let columns: Vec<_> = columns.iter().map(|column| u32::from_be_bytes(*column).to_string()).collect();
    if columns.len() == 1 { columns[0].clone() } else { format!("({})", columns.join(", ")) }
}

/// What a change does to a page of a store.
pub fn change(names: &Names, page: PageId, store: StoreId, change: &Change<'_>) -> String {
    let of = names.store(store);
    match change {
        Change::Format { kind, .. } => match kind {
            PageKind::Node => format!("{of}: page {page} becomes a node"),
            PageKind::Heap => format!("{of}: page {page} becomes a page of records"),
            other => format!("{of}: page {page} becomes {other:?}"),
        },
        Change::Map(change) => match change {
            MapChange::Take { bit } => format!("space map: page {} is taken", page.0 + bit),
            MapChange::Give { bit } => format!("space map: page {} is free", page.0 + bit),
            other => format!("space map: {other:?}"),
        },
        Change::Heap(change) => heap(&of, page, change),
        Change::HeapPages(change) => match change {
            ListChange::Append { index, page } => format!("{of} list: page {page} is entry {index}"),
            ListChange::SetRoom { index, has_room: true } => format!("{of} list: the page of entry {index} has room"),
            ListChange::SetRoom { index, .. } => format!("{of} list: the page of entry {index} is full"),
            other => format!("{of} list: {other:?}"),
        },
        Change::Node(change) => node(names, &of, page, store, change),
        other => format!("{of}: {other:?}"),
    }
}

fn heap(of: &str, page: PageId, change: &HeapChange<'_>) -> String {
    match change {
        HeapChange::Insert { slot, .. } => format!("insert {of} record {page}.{slot}"),
        HeapChange::Delete { slot, .. } => format!("{of} record {page}.{slot} becomes a ghost"),
        HeapChange::Undelete { slot, .. } => format!("{of} record {page}.{slot} is none any more but a record again"),
        HeapChange::Update { slot, ranges, back } => {
            let mut rest = *ranges;
            let mut told = Vec::new();
            while !rest.is_empty() {
                let range = next_range(&mut rest).expect("it was just made");
                let (from, to) = if *back { (range.after, range.before) } else { (range.before, range.after) };
                let end = range.offset + from.len();
                told.push(format!("bytes {}..{end} {} -> {}", range.offset, show_bytes(from), show_bytes(to)));
            }
            format!("update {of} record {page}.{slot}, {}", told.join(", "))
        }
    }
}

fn show_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn node(names: &Names, of: &str, page: PageId, store: StoreId, change: &NodeChange<'_>) -> String {
    let place = format!("{of} {page}");
    match change {
        NodeChange::Insert { at, entry, .. } => format!("{place}: insert {} at {at}", names.entry(store, entry)),
        NodeChange::Remove { at, entry, .. } => format!("{place}: remove {} at {at}", names.entry(store, entry)),
        NodeChange::Cut { from, .. } => format!("{place}: cut off the entries from {from} on"),
        NodeChange::Append { from, .. } => format!("{place}: add entries from {from} on"),
        NodeChange::Link { old, new } => {
            let link = |page: PageId| if page == PageId::NONE { "none".to_owned() } else { page.to_string() };
            let side = |name, old: PageId, new: PageId| {
                (old != new).then(|| format!("{name} sibling {} -> {}", link(old), link(new)))
            };
            let sides = [side("left", old.left, new.left), side("right", old.right, new.right)];
            format!("{place}: {}", sides.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        NodeChange::Rebuild { .. } => format!("{place}: rebuild the root"),
        NodeChange::Retire { .. } => format!("{place}: is a node no more"),
        NodeChange::Revive { .. } => format!("{place}: is a node again"),
    }
}
