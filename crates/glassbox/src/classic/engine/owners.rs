//! Whose every page is: the space map, compared with what the directory and the stores say.
//!
//! The map says which pages are in use, the stores which are theirs, and neither is made from the other; so they are
//! compared. A page in use must have one owner: the volume itself, the directory, the map, or one store. A page of two
//! owners will be overwritten by one of them; one that the map calls free, by the next allocation. A page without an
//! owner is leaked.
//!
//! The stores are those of the directory, whatever the manifest thinks of them: what is left of an index that a program
//! has given up takes room as well.

use std::collections::{BTreeMap, HashSet};

use crate::classic::directory::{self, StoreEntry, StoreKind};
use crate::classic::heap::HeapFile;
use crate::classic::ids::PageId;
use crate::classic::page;
use crate::classic::page::any_pages::AnyPages;
use crate::classic::page::pages::Pages;
use crate::classic::space::{self, SpaceMap};
use crate::classic::stack::TableKeys;
use crate::classic::tree::{Definition, IntegerKeys, KeyPart, MAX_KEY_BYTES, Tree};
use crate::error::Error;
use crate::record::ColumnType;

/// What a store has.
pub(crate) struct StoreUsage {
    /// Its pages, those of a heap file's list among them.
    pub(crate) pages: Vec<PageId>,
    /// Records, or keys.
    pub(crate) items: u64,
}

pub(crate) fn usage_of_store(pages: AnyPages<'_>, entry: &StoreEntry) -> Result<StoreUsage, Error> {
    let mut usage = StoreUsage { pages: Vec::new(), items: 0 };
    match entry.kind {
        StoreKind::Heap { record_width } => {
            let heap = HeapFile::open(&pages, entry.store, entry.root, record_width.into())?;
            heap.verify(&pages, |page| usage.pages.push(page))?;
            heap.scan(&pages, |_, _| {
                usage.items += 1;
                Ok(())
            })?;
        }
        StoreKind::Tree { .. } => {
            let definition = any_tree::<IntegerKeys>(entry, pages.page_bytes())?.expect("a tree");
            // Only for its type: nothing is taken from it.
            let space = SpaceMap::new(pages, 0);
            let tree = Tree::new(&pages, &space, &definition);
            usage = StoreUsage { pages: tree.pages()?, items: tree.len()? };
        }
    }
    Ok(usage)
}

pub(crate) fn any_tree<K: TableKeys>(entry: &StoreEntry, page_bytes: usize) -> Result<Option<Definition<K>>, Error> {
    let StoreKind::Tree { key_width, .. } = entry.kind else { return Ok(None) };
    let width = usize::from(key_width);
    if !(1..=MAX_KEY_BYTES).contains(&width) {
        let problem = format!("the directory has a tree {:?} with keys of {width} bytes", entry.name);
        return Err(page::damaged(PageId(0), page_bytes, problem));
    }
    let part = KeyPart { kind: ColumnType::Bytes(width), nullable: false };
    Ok(Some(Definition::new(entry.store, entry.root, K::of(&[part]), page_bytes)))
}

pub(crate) fn verify_space(pages: AnyPages<'_>, wrong: &mut Vec<String>) -> Result<u64, Error> {
    let mut owners = BTreeMap::<PageId, String>::new();
    let mut own = |page: PageId, owner: &str, wrong: &mut Vec<String>| {
        if let Some(other) = owners.insert(page, owner.to_owned()) {
            wrong.push(format!("page {page} is used twice, by {other} and by {owner}"));
        }
    };
    for page in directory::pages(&pages)? {
        own(page, "the directory", wrong);
    }
    for entry in directory::list(&pages)? {
        let owner = format!("store {:?}", entry.name);
        usage_of_store(pages, &entry)?.pages.into_iter().for_each(|page| own(page, &owner, wrong));
    }
    // Page 0 has no bit.
    let mut used = HashSet::from([PageId(0)]);
    SpaceMap::new(pages, 0).for_each_used(|page| {
        if space::is_map_page(page, pages.page_bytes()) {
            own(page, "the space map", wrong);
        }
        used.insert(page);
    })?;
    for (page, owner) in &owners {
        if !used.contains(page) {
            wrong.push(format!("page {page} of {owner} is free, as the space map says"));
        }
    }
    let mut unowned: Vec<_> = used.iter().filter(|page| !owners.contains_key(page)).collect();
    unowned.sort_unstable();
    for page in unowned {
        wrong.push(format!("page {page} is in use, as the space map says, but has no owner (leaked)"));
    }
    Ok(used.len() as u64)
}
