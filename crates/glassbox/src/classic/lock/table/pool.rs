//! The memory of a partition: its heads and requests, chained by numbers.

use super::{Head, List, NONE, Partition, Request, State};
use crate::classic::lock::mode::Mode;
use crate::classic::lock::name::Key;

/// Chains of heads at first, a power of two.
pub(super) const BUCKETS: usize = 64;

impl Partition {
    #[inline(always)]
    fn bucket(&self, hash: u64) -> usize {
        // The lowest bits chose the partition.
        (hash >> 16) as usize & (self.buckets.len() - 1)
    }

    /// The head of a name, or none.
    #[inline(always)]
    pub(super) fn find(&self, key: Key, hash: u64) -> u32 {
        let mut at = self.buckets[self.bucket(hash)];
        while at != NONE {
            let head = &self.heads[at as usize];
            if head.key == key {
                break;
            }
            at = head.next;
        }
        at
    }

    /// A head for a name that has none.
    #[inline]
    pub(super) fn new_head(&mut self, key: Key, hash: u64) -> u32 {
        if self.heads_used >= self.buckets.len() {
            self.grow();
        }
        let bucket = self.bucket(hash);
        let empty = List { first: NONE, last: NONE };
        let next = self.buckets[bucket];
        let head = Head { key, hash, next, lists: [empty; 2], holders: [0; 6], modes: 0, converting: 0 };
        let mut at = self.free_head;
        if at == NONE {
            at = self.heads.len() as u32;
            self.heads.push(head);
        } else {
            self.free_head = self.heads[at as usize].next;
            self.heads[at as usize] = head;
        }
        self.buckets[bucket] = at;
        self.heads_used += 1;
        at
    }

    /// Twice as many buckets.
    #[cold]
    fn grow(&mut self) {
        let chained: Vec<u32> = self.buckets.iter().flat_map(|first| self.chain(*first)).collect();
        let buckets = self.buckets.len() * 2;
        self.buckets.clear();
        self.buckets.resize(buckets, NONE);
        for at in chained {
            let bucket = self.bucket(self.heads[at as usize].hash);
            self.heads[at as usize].next = std::mem::replace(&mut self.buckets[bucket], at);
        }
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        let present = |at: u32| (at != NONE).then_some(at);
        std::iter::successors(present(first), move |at| present(self.heads[*at as usize].next))
    }

    /// Gives the head of a name back that has no requests.
    #[inline]
    pub(super) fn free_head(&mut self, head: u32) {
        let Head { hash, next, .. } = self.heads[head as usize];
        let bucket = self.bucket(hash);
        let mut at = self.buckets[bucket];
        if at == head {
            self.buckets[bucket] = next;
        } else {
            while self.heads[at as usize].next != head {
                at = self.heads[at as usize].next;
            }
            self.heads[at as usize].next = next;
        }
        self.heads[head as usize].next = std::mem::replace(&mut self.free_head, head);
        self.heads_used -= 1;
    }

    /// A granted request, in no list yet.
    #[inline]
    pub(super) fn new_request(&mut self, head: u32, owner: u32, mode: Mode) -> u32 {
        let granted = State::Granted;
        let request =
            Request { head, owner, previous: NONE, next: NONE, mode, wanted: mode, state: granted, waiter: None };
        let at = self.free_request;
        if at == NONE {
            self.requests.push(request);
            return self.requests.len() as u32 - 1;
        }
        self.free_request = self.requests[at as usize].next;
        self.requests[at as usize] = request;
        at
    }

    /// Gives a request back that is in no list.
    #[inline(always)]
    pub(super) fn free(&mut self, request: u32) {
        let freed = &mut self.requests[request as usize];
        freed.state = State::Free;
        freed.next = std::mem::replace(&mut self.free_request, request);
    }

    /// Puts a request at the end of a list of its head.
    #[inline(always)]
    pub(super) fn push(&mut self, list: usize, request: u32) {
        let list = &mut self.heads[self.requests[request as usize].head as usize].lists[list];
        let last = std::mem::replace(&mut list.last, request);
        if last == NONE {
            list.first = request;
        } else {
            self.requests[last as usize].next = request;
        }
        self.requests[request as usize].previous = last;
        self.requests[request as usize].next = NONE;
    }

    /// Takes a request out of a list of its head.
    #[inline(always)]
    pub(super) fn unlink(&mut self, list: usize, request: u32) {
        let Request { head, previous, next, .. } = self.requests[request as usize];
        let list = &mut self.heads[head as usize].lists[list];
        if previous == NONE {
            list.first = next;
        } else {
            self.requests[previous as usize].next = next;
        }
        if next == NONE {
            list.last = previous;
        } else {
            self.requests[next as usize].previous = previous;
        }
    }
}
