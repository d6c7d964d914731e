//! Address space reserved once, filled with memory as it is touched.
//!
//! A structure that grows by moving (a `Vec`) stalls for as long as the move takes and invalidates every address into
//! it. A structure that grows by chunks pays an extra lookup on every access. Address space, though, costs nothing: a
//! region reserves as much of it as the machine has memory, once, and the kernel gives a page when one is first
//! touched. So
//!
//! - the base never moves, and the address of element `i` is `base + i * size`, with nothing in between;
//! - growth is a comparison, never a copy;
//! - memory that was never claimed reads as zero.
//!
//! Large structures want huge pages (a miss of the address translation costs as much as one of the cache), small ones
//! must not take two mebibytes each. A region therefore starts with the system's ordinary pages and asks for huge ones
//! once it has outgrown the first huge page. From then on it has the next one made present before its
//! [need](crate::huge_pages): two mebibytes to be zeroed would stall a transaction for as long as a hundred others
//! take.
//!
//! Each mapping is a call to the system when it is made and, worse, when it is removed: a removal interrupts every core
//! on which the process runs. So the regions of a database share mappings ([`AddressSpace`]).
//!
//! Rejected: a pool of memory shared by the tables of a partition, which would save address space, of which there is
//! plenty, and bring back the fragmentation that separate regions cannot have.

use std::io;
use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::huge_pages::{self, HUGE_PAGE_BYTES, memory_bytes};

/// A reservation smaller than this is no use: the machine is refusing address space as such.
const MINIMUM_BYTES: usize = 64 << 20;

/// The system refused the address space that a table or an index needs.
#[derive(Debug, thiserror::Error)]
#[error("cannot reserve {bytes} bytes: {cause}")]
pub(crate) struct CannotReserve {
    /// The smallest size that was tried.
    pub(crate) bytes: usize,
    /// Why the system refused.
    pub(crate) cause: io::Error,
}

/// Regions of one size that share a mapping.
const SHARING_REGIONS: usize = 32;
/// The least size of a mapping that is shared.
const MIN_SHARED_BYTES: usize = 256 << 20;

/// The address space of a database's regions. A mapping is removed with the last region in it.
#[derive(Debug, Default)]
pub(crate) struct AddressSpace {
    /// The mapping in use, and the bytes of it that regions have.
    shared: Option<(Arc<Mapping>, usize)>,
}

impl AddressSpace {
    /// A mapping, and the offset in it from which these bytes are free.
    fn take(&mut self, bytes: usize) -> io::Result<(Arc<Mapping>, usize)> {
        if self.shared.as_ref().is_none_or(|(mapping, used)| used + bytes > mapping.bytes) {
            let wanted = bytes.saturating_mul(SHARING_REGIONS).max(MIN_SHARED_BYTES);
            // Where the system refuses that much, it may have enough for this region.
            let mapping = Mapping::new(wanted).or_else(|_| Mapping::new(bytes))?;
            self.shared = Some((Arc::new(mapping), 0));
        }
        let (mapping, used) = self.shared.as_mut().expect("it is set above");
        let offset = *used;
        *used += bytes;
        Ok((mapping.clone(), offset))
    }
}

/// Address space that the system mapped, and unmaps with this value.
#[derive(Debug)]
struct Mapping {
    /// Where the system mapped it.
    address: usize,
    /// Usable bytes, from the first address that is aligned to a huge page.
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize) -> io::Result<Self> {
        let start = map(bytes.saturating_add(HUGE_PAGE_BYTES))?;
        Ok(Self { address: start.as_ptr().expose_provenance(), bytes })
    }

    fn base(&self, offset: usize) -> NonNull<u8> {
        let base = with_exposed_provenance_mut(self.address.next_multiple_of(HUGE_PAGE_BYTES) + offset);
        NonNull::new(base).expect("nothing is mapped at zero")
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and what points into it borrows from the owner of a
        // region, which owns a share of this value. The call fails only for a range that was never mapped.
        let _ = unsafe { munmap(with_exposed_provenance_mut(self.address), self.bytes + HUGE_PAGE_BYTES) };
    }
}

/// A range of reserved address space, claimed from its start.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    /// Bytes claimed: the memory below is in use by the owner. At most `reserved`.
    used: usize,
    /// Bytes that may be claimed before something has to be done: the end of the huge page in use.
    easy: usize,
    /// Bytes that are present or will be, as far as was asked.
    asked: usize,
    /// Bytes that the owner's entries may use: all but the spare.
    limit: usize,
    /// Bytes of address space.
    reserved: usize,
    /// Keeps the range mapped.
    _mapping: Arc<Mapping>,
}

// SAFETY: a region owns its range of the mapping alone, and a mapping belongs to the process, not to a thread.
unsafe impl Send for Region {}

impl Region {
    /// Reserves `wanted` bytes, but not more than the machine has memory; less where the system refuses.
    ///
    /// # Errors
    /// When the system refuses even a small reservation.
    pub(crate) fn reserve(wanted: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        Self::reserve_bytes(wanted.clamp(1, memory_bytes().next_power_of_two()), space)
    }

    /// As [`Region::reserve`], and a spare eighth, which [`Region::could_claim`] does not count until it is allowed to.
    pub(crate) fn reserve_with_spare(wanted: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        let wanted = wanted.clamp(1, memory_bytes().next_power_of_two()).next_multiple_of(HUGE_PAGE_BYTES);
        let mut region = Self::reserve_bytes(wanted + (wanted / 8).max(HUGE_PAGE_BYTES), space)?;
        region.limit = wanted.min(region.reserved - region.reserved / 9);
        Ok(region)
    }

    fn reserve_bytes(wanted: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        huge_pages::start();
        let mut bytes = wanted.next_multiple_of(HUGE_PAGE_BYTES);
        loop {
            match space.take(bytes) {
                Ok((mapping, offset)) => return Ok(Self::within(mapping, offset, bytes)),
                Err(_) if bytes / 2 >= MINIMUM_BYTES => {
                    bytes = (bytes / 2).next_multiple_of(HUGE_PAGE_BYTES);
                }
                Err(cause) => return Err(CannotReserve { bytes, cause }),
            }
        }
    }

    fn within(mapping: Arc<Mapping>, offset: usize, reserved: usize) -> Self {
        let easy = HUGE_PAGE_BYTES.min(reserved);
        Self { base: mapping.base(offset), used: 0, easy, asked: 0, limit: reserved, reserved, _mapping: mapping }
    }

    /// The address of the region's first byte; it never changes.
    #[inline(always)]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Claims the bytes below `end`. Gives `false`, and changes nothing, when the region ends before that.
    #[inline(always)]
    pub(crate) fn claim(&mut self, end: usize) -> bool {
        if end > self.easy && !self.claim_more(end) {
            return false;
        }
        self.used = self.used.max(end);
        true
    }

    /// Whether the bytes below `end` could be claimed, without the spare unless it was allowed.
    #[inline(always)]
    pub(crate) fn could_claim(&self, end: usize) -> bool {
        end <= self.limit
    }

    /// Whether the bytes below `end` could be claimed, with the spare.
    pub(crate) fn could_claim_spare(&self, end: usize) -> bool {
        end <= self.reserved
    }

    /// Lets [`Region::could_claim`] count the spare; gives the limit until now, for [`Region::set_limit`].
    pub(crate) fn allow_spare(&mut self) -> usize {
        std::mem::replace(&mut self.limit, self.reserved)
    }

    /// Restores a limit that [`Region::allow_spare`] gave.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    #[cold]
    fn claim_more(&mut self, end: usize) -> bool {
        if end > self.reserved {
            return false;
        }
        if self.easy == HUGE_PAGE_BYTES {
            // SAFETY: the range is this region's own, and advice on page sizes changes no contents. Where the system
            // knows no huge pages it refuses, and the region works with ordinary ones.
            let _ = unsafe { madvise(self.base.as_ptr().cast(), self.reserved, Advice::LinuxHugepage) };
        }
        self.easy = end.next_multiple_of(HUGE_PAGE_BYTES);
        let until = self.reserved.min(huge_pages::until(self.easy));
        for page in (self.easy.max(self.asked)..until).step_by(HUGE_PAGE_BYTES) {
            huge_pages::ask(self.base.as_ptr() as usize + page);
        }
        self.asked = until;
        true
    }

    /// Bytes of memory in use: what was claimed.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used
    }

    /// Bytes that can be claimed at most.
    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved
    }
}

/// Maps `bytes` of private, zeroed, not yet present memory.
fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the system chooses the address, so no existing mapping is replaced.
    let start = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the system mapped address zero"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::partitioned::storage::memory::region::*;

    #[test]
    fn claims_up_to_its_end_and_reads_as_zero() {
        let mut region = Region::reserve(5 << 20, &mut AddressSpace::default()).unwrap();
        assert_eq!(region.reserved_bytes(), 6 << 20);
        assert_eq!(region.base().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
        let base = region.base();
        assert!(region.claim(100) && region.claim(6 << 20) && region.claim(7));
        assert_eq!(region.used_bytes(), 6 << 20);
        assert!(!region.claim((6 << 20) + 1));
        assert_eq!(region.used_bytes(), 6 << 20);
        assert_eq!(region.base(), base);
        // SAFETY: the byte is the last of the claimed range.
        assert_eq!(unsafe { base.add((6 << 20) - 1).read() }, 0);
    }

    #[test]
    fn the_spare_counts_only_while_it_is_allowed() {
        let mut region = Region::reserve_with_spare(16 << 20, &mut AddressSpace::default()).unwrap();
        assert!(region.could_claim(16 << 20) && !region.could_claim((16 << 20) + 1));
        assert!(region.could_claim_spare(18 << 20) && !region.could_claim_spare((18 << 20) + 1));
        let limit = region.allow_spare();
        assert!(region.could_claim(18 << 20) && region.claim(18 << 20));
        region.set_limit(limit);
        assert!(!region.could_claim((16 << 20) + 1));
    }

    #[test]
    fn many_whole_regions_fit_beside_each_other() {
        let mut space = AddressSpace::default();
        let regions: Vec<Region> = (0..100).map(|_| Region::reserve(usize::MAX, &mut space).unwrap()).collect();
        assert!(regions.iter().all(|region| region.could_claim(MINIMUM_BYTES)));
    }

    #[test]
    fn regions_share_mappings_and_no_byte() {
        let mut space = AddressSpace::default();
        let mut regions: Vec<Region> = (0..100).map(|_| Region::reserve(6 << 20, &mut space).unwrap()).collect();
        let mappings: HashSet<usize> = regions.iter().map(|region| region._mapping.address).collect();
        assert_eq!(mappings.len(), 3, "42 of them have room in one mapping");
        let swap = |region: &Region, offset: usize, value: u8| {
            // SAFETY: every byte of the regions is claimed before it is swapped, and owned by the region.
            unsafe { region.base().add(offset).replace(value) }
        };
        for (number, region) in regions.iter_mut().enumerate() {
            assert!(region.claim(6 << 20) && !region.claim((6 << 20) + 1));
            assert_eq!(swap(region, 0, number as u8), 0);
            assert_eq!(swap(region, (6 << 20) - 1, number as u8), 0);
        }
        // A mapping stays until its last region is dropped.
        drop(space);
        let last = regions.split_off(99);
        drop(regions);
        assert_eq!(swap(&last[0], 0, 0), 99);
    }
}
