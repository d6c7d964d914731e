//! The sorted array of a node's entries, and how a place in it is found.

/// The entries of a node.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'p> {
    /// From the first entry on, with at least 8 bytes behind the last one.
    bytes: &'p [u8],
    /// Bytes of an entry. Numbers of 32 bits cannot overflow as positions in a page, which saves checks.
    stride: u32,
    count: u32,
}

impl<'p> Entries<'p> {
    /// `count` entries of `stride` bytes at the beginning of `bytes`.
    #[inline(always)]
    pub(super) fn new(bytes: &'p [u8], stride: usize, count: usize) -> Self {
        Self { bytes, stride: stride as u32, count: count as u32 }
    }

    #[inline(always)]
    pub(super) fn count(self) -> usize {
        self.count as usize
    }

    /// The first `N` bytes of the entry at `at`, and what follows it where the entry is shorter.
    #[inline(always)]
    pub(super) fn head<const N: usize>(self, at: u32) -> [u8; N] {
        let from = (at * self.stride) as usize;
        self.bytes[from..from + N].try_into().expect("as many")
    }

    /// The 8 bytes from `offset` on in the entry at `at`, and in what follows it where the entry ends before, as a
    /// number whose highest byte is the first.
    #[inline(always)]
    pub(super) fn word(self, at: u32, offset: u32) -> u64 {
        let from = (at * self.stride + offset) as usize;
        u64::from_be_bytes(self.bytes[from..from + 8].try_into().expect("as many"))
    }

    /// The key, of `width` bytes, of the entry at `at`.
    #[inline(always)]
    pub(super) fn key(self, at: u32, width: usize) -> &'p [u8] {
        let from = (at * self.stride) as usize;
        &self.bytes[from..from + width]
    }

    /// How many entries come before the first for which `before` says no. The choice in the loop is not a branch, and
    /// how often it runs depends on the number of entries only (uniform binary search, Knuth 1998, §6.2.1).
    #[inline(always)]
    pub(super) fn partition(self, before: impl Fn(u32) -> bool) -> usize {
        if self.count == 0 {
            return 0;
        }
        // `before` says yes to all entries below `found`, and after each step to fewer than `step` more.
        let mut step = 1_u32 << self.count.ilog2();
        let mut found = std::hint::select_unpredictable(before(step - 1), self.count - step + 1, 0);
        while step > 1 {
            step /= 2;
            let next = found + step;
            found = std::hint::select_unpredictable(before(next - 1), next, found);
        }
        found as usize
    }
}
