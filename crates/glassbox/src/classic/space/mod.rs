//! Who owns which page.

use super::change::Journal;
use super::ids::PageId;
use crate::error::Error;

/// Gives pages to stores and takes them back.
pub(crate) trait Space {
    /// A page that nobody uses. Taken back with the nested action that it belongs to.
    ///
    /// # Errors
    /// When there is none, or the log does not take it.
    fn allocate<J: Journal>(&self, journal: &mut J) -> Result<PageId, Error>;

    /// Gives a page back. Nothing may lead to it any more, and what unlinked it must have ended: somebody else may be
    /// given it at once, so this is never taken back.
    ///
    /// # Errors
    /// When the log does not take it.
    fn free<J: Journal>(&self, journal: &mut J, page: PageId) -> Result<(), Error>;
}
