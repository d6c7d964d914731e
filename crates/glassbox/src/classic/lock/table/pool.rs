//! The memory of a partition: its heads and requests.
//!
//! Most names are locked by one owner alone, and forgotten when he gives the lock back. So the hash of a name says
//! which node is its *home*, and if no other name is there it becomes its head: nothing is looked for, and nothing
//! chained. It is already what such a name needs, but for the name, the owner and the mode: its one request is in its
//! list of granted ones, and no other request exists. Only the head of a name whose home is another's is one of
//! the nodes that are no homes, in the chain of its bucket; numbers take the place of addresses.

use super::{Head, List, LockPartition, NONE, PoolNode, Request, RequestState};
use crate::classic::lock::mode::LockMode;
use crate::classic::lock::name::{PARTITION_BITS, PackedName};
use crate::classic::lock::owner::By;

/// Nodes that are homes, a power of two. In tests so few that all ways are gone.
const HOMES: usize = if cfg!(test) { 2 } else { 16 };
/// Chains of heads at first, a power of two.
pub(super) const BUCKETS: usize = 32;

pub(super) const EMPTY: List = List { first: NONE, last: NONE };

/// The homes, as they are at first.
pub(super) fn homes() -> Vec<PoolNode> {
    (0..HOMES as u32).map(free_node).collect()
}

/// The home of a name.
#[inline(always)]
fn home(hash: u64) -> usize {
    (hash >> PARTITION_BITS) as usize & (HOMES - 1)
}

impl LockPartition {
    #[inline(always)]
    fn bucket(&self, hash: u64) -> usize {
        (hash >> PARTITION_BITS) as usize & (self.buckets.len() - 1)
    }

    /// How many names have a queue.
    #[cfg(test)]
    pub(in crate::classic::lock) fn names(&self) -> usize {
        self.nodes[..HOMES].iter().filter(|node| node.head.key != PackedName::NONE).count() + self.chained
    }

    /// The head of a name, or none.
    #[inline(always)]
    pub(super) fn find(&self, key: PackedName, hash: u64) -> u32 {
        let home = home(hash);
        if self.nodes[home].head.key == key {
            home as u32
        } else if self.chained == 0 {
            NONE
        } else {
            self.find_chained(key, hash)
        }
    }

    fn find_chained(&self, key: PackedName, hash: u64) -> u32 {
        let mut at = self.buckets[self.bucket(hash)];
        while at != NONE {
            let head = &self.nodes[at as usize].head;
            if head.key == key {
                break;
            }
            at = head.next;
        }
        at
    }

    /// A head for a name that has none, with a first request, which is granted. Gives that, which is also its node.
    #[inline(always)]
    pub(super) fn new_head(&mut self, key: PackedName, hash: u64, by: By, mode: LockMode) -> u32 {
        let home = home(hash);
        let at = if self.nodes[home].head.key == PackedName::NONE { home as u32 } else { self.chain(hash) };
        let PoolNode { head, request, .. } = &mut self.nodes[at as usize];
        head.key = key;
        head.holders[mode as usize] = 1;
        head.modes = mode.bit();
        (request.owner, request.place, request.mode, request.state) = (by.owner, by.place, mode, RequestState::Granted);
        at
    }

    /// A node in the chain of its bucket.
    #[inline(never)]
    fn chain(&mut self, hash: u64) -> u32 {
        if self.chained >= self.buckets.len() {
            self.grow();
        }
        let (at, bucket) = (self.new_node(), self.bucket(hash));
        let next = std::mem::replace(&mut self.buckets[bucket], at);
        let head = &mut self.nodes[at as usize].head;
        (head.hash, head.next) = (hash, next);
        self.chained += 1;
        at
    }

    fn new_node(&mut self) -> u32 {
        let at = self.free;
        if at == NONE {
            let at = self.nodes.len() as u32;
            self.nodes.push(free_node(at));
            return at;
        }
        self.free = self.nodes[at as usize].head.next;
        at
    }

    /// Twice as many buckets.
    #[cold]
    fn grow(&mut self) {
        let chained: Vec<u32> = self.buckets.iter().flat_map(|first| self.chain_from(*first)).collect();
        let buckets = self.buckets.len() * 2;
        self.buckets.clear();
        self.buckets.resize(buckets, NONE);
        for at in chained {
            let bucket = self.bucket(self.nodes[at as usize].head.hash);
            self.nodes[at as usize].head.next = std::mem::replace(&mut self.buckets[bucket], at);
        }
    }

    fn chain_from(&self, first: u32) -> impl Iterator<Item = u32> {
        let present = |at: u32| (at != NONE).then_some(at);
        std::iter::successors(present(first), move |at| present(self.nodes[*at as usize].head.next))
    }

    /// Gives the head of a name back, whose last request has gone.
    pub(super) fn free_head(&mut self, head: u32) {
        if head as usize >= HOMES {
            self.unchain(head);
        }
        self.free_node(head);
    }

    /// Gives the head of a name back together with its only request, if that is `request`, which is granted.
    #[inline(always)]
    pub(super) fn free_only(&mut self, request: u32) -> bool {
        let PoolNode { head, request: own, .. } = &mut self.nodes[request as usize];
        let alone = head.lists == [List { first: request, last: request }, EMPTY];
        if own.head != request || !alone {
            return false;
        }
        head.holders[own.mode as usize] = 0;
        head.key = PackedName::NONE;
        own.state = RequestState::Free;
        if request as usize >= HOMES {
            self.unchain(request);
            self.nodes[request as usize].head.next = std::mem::replace(&mut self.free, request);
        }
        true
    }

    /// Takes the head of a name out of the chain of its bucket.
    #[inline(never)]
    fn unchain(&mut self, head: u32) {
        let Head { hash, next, .. } = self.nodes[head as usize].head;
        let bucket = self.bucket(hash);
        let mut at = self.buckets[bucket];
        if at == head {
            self.buckets[bucket] = next;
        } else {
            while self.nodes[at as usize].head.next != head {
                at = self.nodes[at as usize].head.next;
            }
            self.nodes[at as usize].head.next = next;
        }
        self.chained -= 1;
    }

    fn free_node(&mut self, at: u32) {
        let freed = &mut self.nodes[at as usize];
        *freed = free_node(at);
        if at as usize >= HOMES {
            freed.head.next = std::mem::replace(&mut self.free, at);
        }
    }

    /// A granted request beside others, in no list yet.
    pub(super) fn new_request(&mut self, head: u32, by: By, mode: LockMode) -> u32 {
        // That of the head's own node may have gone.
        let free = self.nodes[head as usize].request.state == RequestState::Free;
        let at = if free { head } else { self.new_node() };
        self.nodes[at as usize].request = granted(head, by, mode);
        at
    }

    /// Gives a request back that is in no list, but not the head of whose node it is.
    #[inline(always)]
    pub(super) fn free(&mut self, request: u32) {
        if self.nodes[request as usize].request.head == request {
            self.nodes[request as usize].request.state = RequestState::Free;
        } else {
            self.free_node(request);
        }
    }

    /// Puts a request at the end of a list of its head.
    #[inline]
    pub(super) fn push(&mut self, list: usize, request: u32) {
        let head = self.nodes[request as usize].request.head;
        let list = &mut self.nodes[head as usize].head.lists[list];
        let last = std::mem::replace(&mut list.last, request);
        if last == NONE {
            list.first = request;
        } else {
            self.nodes[last as usize].request.next = request;
        }
        let request = &mut self.nodes[request as usize].request;
        (request.previous, request.next) = (last, NONE);
    }

    /// Takes a request out of a list of its head.
    #[inline]
    pub(super) fn unlink(&mut self, list: usize, request: u32) {
        let Request { head, previous, next, .. } = self.nodes[request as usize].request;
        if previous == NONE {
            self.nodes[head as usize].head.lists[list].first = next;
        } else {
            self.nodes[previous as usize].request.next = next;
        }
        if next == NONE {
            self.nodes[head as usize].head.lists[list].last = previous;
        } else {
            self.nodes[next as usize].request.previous = previous;
        }
    }
}

/// See the file.
fn free_node(at: u32) -> PoolNode {
    let lists = [List { first: at, last: at }, EMPTY];
    let head = Head { key: PackedName::NONE, hash: 0, next: NONE, lists, holders: [0; 6], modes: 0, converting: 0 };
    let nobody = By { owner: NONE, place: 0 };
    PoolNode { head, request: Request { state: RequestState::Free, ..granted(at, nobody, LockMode::IS) }, waiter: None }
}

#[inline(always)]
fn granted(head: u32, By { owner, place }: By, mode: LockMode) -> Request {
    let state = RequestState::Granted;
    Request { head, owner, place, previous: NONE, next: NONE, mode, wanted: mode, is_momentary: false, state }
}
