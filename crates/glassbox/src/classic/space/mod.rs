//! Which pages of the volume are in use.
//!
//! Problem: stores grow page by page, and trees give pages back; two transactions must never be given the same page,
//! and after a crash every page is either somebody's or free. A list of free pages, each naming the next, would be the
//! least code, but giving and taking would read and change the page itself, and a list cannot be compared with what is
//! in use. So there is one bit for each page, in map pages at places that follow from the page size: the map page that
//! speaks for a page is found without reading anything else ([`map`]).
//!
//! Invariant: a page whose bit is clear is named by no page. An allocation sets the bit before the page is named, in
//! the nested action that makes it part of a store; when that is undone, so is the bit, whatever other bits of the same
//! map page have changed meanwhile. Freeing a page is not as simple. If its bit were cleared within the nested action
//! that cuts the page off, another transaction could take the page before that action ends, and then the action could
//! not be undone any more. If it were cleared after that, a crash between the two would lose the page. So it is cleared
//! in the action, and the map page stays latched until the action has ended ([`Space::end_nested_freeing`]).

mod map;
mod space_map;
#[cfg(test)]
mod tests;

use super::change::PageLog;
use super::ids::PageId;
use crate::error::Error;

pub(crate) use map::{MapChange, is_map_page};
pub(crate) use space_map::{LIMIT_PAGES, SpaceMap};

/// The allocation of pages to stores.
pub(crate) trait Space {
    /// Allocates a page. Its bytes are what they happen to be: fix it by
    /// [`Pages::fix_new`](super::page::pages::Pages::fix_new) and format it. Call it in a nested action, which is what
    /// keeps the page if the transaction does not commit.
    ///
    /// # Errors
    /// When the volume is full, or its map cannot be read or logged.
    fn allocate<J: PageLog>(&self, journal: &mut J) -> Result<PageId, Error>;

    /// What speaks for pages that are to be given back, latched.
    type Freeing<'a>
    where
        Self: 'a;

    /// Latches what speaks for `pages`, which are in use: before the first change of the action that cuts them off, so
    /// that only the log can fail in it.
    ///
    /// # Errors
    /// When a page is not in use, or the map cannot be read.
    fn fix_for_freeing(&self, pages: &[PageId]) -> Result<Self::Freeing<'_>, Error>;

    /// Ends the nested action that cut the pages off, which no page names any more, and gives them back: a crash leaves
    /// both or none. They may be taken at once, so let go of them before waiting for anything.
    ///
    /// # Errors
    /// When the log does not take it.
    fn end_nested_freeing<J: PageLog>(
        &self,
        journal: &mut J,
        begun: J::Nested,
        freeing: Self::Freeing<'_>,
    ) -> Result<(), Error>;
}
