//! Who a party says that it is.

use crate::address::Address;
use crate::wire::Expected;

/// Who a party is, and to which cluster it belongs.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// Its address.
    pub me: Address,
    /// The cluster's number.
    pub cluster: u64,
    /// [`Catalog::digest`](glassbox::Catalog::digest).
    pub catalog: u64,
}

impl Identity {
    pub(super) fn frame(&self, sequence: u64, largest: usize) -> Expected {
        Expected { cluster: self.cluster, catalog: self.catalog, sequence, largest }
    }
}
