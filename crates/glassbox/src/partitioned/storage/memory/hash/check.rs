//! Verifying a hash index: every invariant that [`crate::partitioned::storage::memory::hash::index`] states.

use crate::partitioned::storage::memory::hash::HashIndex;
use crate::partitioned::storage::memory::hash::bucket::tag_of;
use crate::partitioned::storage::memory::hash::index::ENTRIES_PER_BUCKET;
use crate::partitioned::storage::memory::rows::RowId;

impl HashIndex {
    /// Checks every entry against the hash of its row, given by `hash_of` (`None` when there is no such row).
    ///
    /// # Errors
    /// A description of the first violation found.
    pub(crate) fn check(&self, hash_of: impl Fn(RowId) -> Option<u64>) -> Result<(), String> {
        let (mut entries, mut overflow_buckets) = (0, 0);
        for place in 0..self.count {
            let mut bucket = self.bucket(place);
            loop {
                for slot in bucket.used() {
                    let row = bucket.row(slot);
                    let hash =
                        hash_of(row).ok_or_else(|| format!("bucket {place} has {row:?}, which does not exist"))?;
                    if self.place(hash) != place {
                        return Err(format!("{row:?} is in bucket {place} but belongs to {}", self.place(hash)));
                    }
                    if bucket.tag(slot) != tag_of(hash) {
                        return Err(format!("{row:?} has tag {} instead of {}", bucket.tag(slot), tag_of(hash)));
                    }
                    entries += 1;
                }
                if bucket.overflow == 0 {
                    break;
                }
                if bucket.overflow > self.overflow_count {
                    return Err(format!("bucket {place} goes on in {}, which does not exist", bucket.overflow));
                }
                overflow_buckets += 1;
                if overflow_buckets > self.overflow_count {
                    return Err(format!("the overflow buckets of bucket {place} run in a circle"));
                }
                bucket = self.overflow_bucket(bucket.overflow);
                if bucket.is_empty() {
                    return Err(format!("bucket {place} has an empty overflow bucket"));
                }
            }
        }
        if entries != self.entries {
            return Err(format!("the buckets hold {entries} entries, the count is {}", self.entries));
        }
        if entries > self.count as usize * ENTRIES_PER_BUCKET {
            return Err(format!("{entries} entries are too many for {} buckets", self.count));
        }
        self.check_free(overflow_buckets)
    }

    /// Checks that every overflow bucket is in a chain or on the free list.
    fn check_free(&self, chained: u32) -> Result<(), String> {
        let (mut free, mut next) = (0, self.free);
        while next != 0 {
            free += 1;
            if next > self.overflow_count || free > self.overflow_count {
                return Err("the list of free overflow buckets is broken".into());
            }
            next = self.overflow_bucket(next).overflow;
        }
        if chained + free != self.overflow_count {
            let all = self.overflow_count;
            return Err(format!("of {all} overflow buckets {chained} are in chains and {free} are free"));
        }
        Ok(())
    }
}
