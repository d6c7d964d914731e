//! Which pages of the volume are in use.
//!
//! Problem: stores grow page by page, and trees give pages back; two transactions must never be given the same page,
//! and after a crash every page is either somebody's or free. A list of free pages, each naming the next, would be the
//! least code, but giving and taking would read and change the page itself, and a list cannot be compared with what is
//! in use. So there is one bit for each page, in map pages at places that follow from the page size: the map page that
//! speaks for a page is found without reading anything else ([`map`]).
//!
//! Invariant: a page whose bit is clear is named by no page. Taking a page sets its bit before anybody names it, in the
//! nested action that makes it part of a store; when that is taken back, so is the bit, whatever other bits of the same
//! map page have changed meanwhile. Giving a page back is not as simple. If its bit were cleared within the nested
//! action that cuts the page off, another transaction could take the page before that action ends, and then the action
//! could not be taken back any more. So the bit is cleared with the end of the action, while the map page is latched
//! ([`Space::end_nested_freeing`]), or after it ([`Space::free`]), when a crash between the two loses a page but harms
//! nobody.

mod map;
mod space_map;
#[cfg(test)]
mod tests;

use super::change::Journal;
use super::ids::PageId;
use crate::error::Error;

pub(crate) use map::{MapChange, is_map_page};
pub(crate) use space_map::SpaceMap;

/// Who gives pages to stores.
pub(crate) trait Space {
    /// Takes a page that nobody uses. Its bytes are what they happen to be: fix it by
    /// [`Pages::fix_new`](super::pages::Pages::fix_new) and format it. Call it in a nested action, which is what keeps
    /// the page if the transaction does not commit.
    ///
    /// # Errors
    /// When the volume is full, or its map cannot be read or logged.
    fn allocate<J: Journal>(&self, journal: &mut J) -> Result<PageId, Error>;

    /// Gives back a page that no page names any more. It may be taken again at once, so call it after the nested action
    /// that cut the page off has ended; or use [`Space::end_nested_freeing`].
    ///
    /// # Errors
    /// When the page is not in use, or the map cannot be read or logged.
    fn free<J: Journal>(&self, journal: &mut J, page: PageId) -> Result<(), Error>;

    /// Ends the nested action that cut `page` off, and gives the page back in one step: a crash leaves both or none.
    ///
    /// # Errors
    /// As for [`Space::free`], and when the log does not take the end.
    fn end_nested_freeing<J: Journal>(&self, journal: &mut J, begun: J::Nested, page: PageId) -> Result<(), Error> {
        journal.end_nested(begun)?;
        self.free(journal, page)
    }
}
