//! A partition of the lock table: for each locked name a head with the queue of its requests.
//!
//! A head has two lists. Of the *granted* requests some may be converting: they hold a mode and wait for a stronger
//! one. The *waiting* requests hold no mode. The rules:
//!
//! - A conversion is granted when the requested mode is compatible with the held modes of all others; modes that others
//!   wait for do not matter.
//! - A new request is granted when it is compatible with all held modes, and no request waits, converting or not. So a
//!   new request never overtakes a waiting one, and conversions precede all waiting requests.
//! - Whenever a request leaves, conversions are granted where possible, in the order of their requests; then, when none
//!   is left, waiting requests from the front until one cannot be granted.
//! - The grant of a momentary request ends its wait, and nothing is held. Held until their owners wake, two such
//!   requests that are made again and again would refuse each other for ever.
//!
//! No request starves: while a request waits no new one is granted, so finitely many precede it. Conversions may
//! overtake each other, because each is by a holder of the lock, and a wait for another conversion could be a deadlock.
//!
//! Heads and requests are in one pool of reused *nodes*: nothing is allocated in steady state. The node of a head has
//! its first request too, because most names are locked by one owner; other requests have nodes of their own.

mod pool;

use std::sync::Arc;

use super::locks::Duration;
use super::mode::{LockMode, Modes};
use super::name::{LockName, PackedName, RECORD};
use super::owner::{By, LockWaiter, WaitState};

pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
struct List {
    first: u32,
    last: u32,
}

/// Position of a list in a head.
const GRANTED: usize = 0;
const WAITING: usize = 1;

struct Head {
    /// That of no name, if this is no head.
    key: PackedName,
    /// Of a head that is not at home: its hash, and what follows it in its bucket, or among the free.
    hash: u64,
    next: u32,
    lists: [List; 2],
    /// Number of holders of each mode.
    holders: [u16; 6],
    /// The modes that are held.
    modes: Modes,
    /// Number of granted requests that are converting.
    converting: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestState {
    Free,
    Granted,
    Converting,
    Waiting,
}

struct Request {
    /// The node of its head.
    head: u32,
    owner: u32,
    /// In the owner's list, once it is granted.
    place: u32,
    previous: u32,
    /// In its list.
    next: u32,
    /// The held mode, if any.
    mode: LockMode,
    /// The mode for which it waits, if any.
    wanted: LockMode,
    /// It is to be granted for an instant only.
    is_momentary: bool,
    state: RequestState,
}

/// What a request waits for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) mode: LockMode,
    pub(super) duration: Duration,
}

struct PoolNode {
    head: Head,
    request: Request,
    /// The owner to wake, if the request waits.
    waiter: Option<Arc<LockWaiter>>,
}

/// See the file's comment.
pub(super) struct LockPartition {
    /// The homes of names, then others.
    nodes: Vec<PoolNode>,
    /// Of those that are no homes, the ones without head and request, chained by the head.
    free: u32,
    /// Chains of heads that are not at home.
    buckets: Vec<u32>,
    /// Their number.
    chained: usize,
    broken: bool,
}

impl LockPartition {
    pub(super) fn new(broken: bool) -> Self {
        Self { nodes: pool::homes(), free: NONE, buckets: vec![NONE; pool::BUCKETS], chained: 0, broken }
    }

    /// Grants a new request if it needs no wait.
    #[inline]
    pub(super) fn request(&mut self, key: PackedName, hash: u64, by: By, mode: LockMode) -> Option<u32> {
        let head = self.find(key, hash);
        if head == NONE {
            return Some(self.new_head(key, hash, by, mode));
        }
        if !self.admits(head, mode) {
            return None;
        }
        let request = self.new_request(head, by, mode);
        self.push(GRANTED, request);
        self.hold(head, mode);
        Some(request)
    }

    /// Whether a new request would be granted at once.
    #[inline(always)]
    pub(super) fn would_grant(&self, key: PackedName, hash: u64, mode: LockMode) -> bool {
        let head = self.find(key, hash);
        head == NONE || self.admits(head, mode)
    }

    /// Grants a stronger mode to a holder of the lock, if this needs no wait.
    pub(super) fn convert(&mut self, request: u32, to: LockMode) -> bool {
        let admitted = self.would_convert(request, to);
        if admitted {
            self.change_mode(request, to);
        }
        admitted
    }

    /// Whether a conversion would be granted at once.
    pub(super) fn would_convert(&self, request: u32, to: LockMode) -> bool {
        let Request { head, mode, .. } = self.nodes[request as usize].request;
        let head = &self.nodes[head as usize].head;
        let own = if head.holders[mode as usize] == 1 { mode.bit() } else { 0 };
        self.conflicts(head.key, to) & head.modes & !own == 0
    }

    /// Puts a new request, which cannot be granted, into the queue.
    pub(super) fn enqueue(
        &mut self,
        key: PackedName,
        hash: u64,
        by: By,
        wanted: Wanted,
        waiter: &Arc<LockWaiter>,
    ) -> u32 {
        let head = self.find(key, hash);
        assert!(head != NONE, "another lock is in the way");
        let request = self.new_request(head, by, wanted.mode);
        self.push(WAITING, request);
        self.wait(request, RequestState::Waiting, wanted, waiter);
        request
    }

    /// Makes a granted request, whose conversion cannot be granted, wait for it.
    pub(super) fn enqueue_conversion(&mut self, request: u32, to: Wanted, waiter: &Arc<LockWaiter>) {
        // To the end, so that conversions are in the order of their requests.
        self.unlink(GRANTED, request);
        self.push(GRANTED, request);
        let head = self.nodes[request as usize].request.head;
        self.nodes[head as usize].head.converting += 1;
        self.wait(request, RequestState::Converting, to, waiter);
    }

    fn wait(&mut self, request: u32, state: RequestState, wanted: Wanted, waiter: &Arc<LockWaiter>) {
        waiter.begin();
        let PoolNode { request, waiter: room, .. } = &mut self.nodes[request as usize];
        (request.state, request.wanted, *room) = (state, wanted.mode, Some(waiter.clone()));
        request.is_momentary = wanted.duration == Duration::Momentary;
    }

    /// Whether the request is this owner's, and waits. It may belong to another owner by now.
    pub(super) fn waits(&self, request: u32, owner: u32) -> bool {
        let request = &self.nodes[request as usize].request;
        request.owner == owner && matches!(request.state, RequestState::Waiting | RequestState::Converting)
    }

    /// Ends a wait without a grant. A mode that was held before is still held.
    pub(super) fn cancel(&mut self, request: u32, signal: WaitState) {
        let Request { head, state, .. } = self.nodes[request as usize].request;
        self.end_wait(request, signal);
        if state == RequestState::Converting {
            self.nodes[request as usize].request.state = RequestState::Granted;
            self.nodes[head as usize].head.converting -= 1;
        } else {
            self.unlink(WAITING, request);
            self.free(request);
        }
        self.settle(head);
    }

    /// Gives a granted lock to another owner, and returns its mode; U becomes S.
    pub(super) fn hand_over(&mut self, request: u32, owner: u32) -> LockMode {
        let it = &mut self.nodes[request as usize].request;
        assert!(it.state == RequestState::Granted, "who waits hands nothing over");
        it.owner = owner;
        let Request { head, mode, .. } = *it;
        if mode == LockMode::U {
            self.change_mode(request, LockMode::S);
            self.settle(head);
            return LockMode::S;
        }
        mode
    }

    /// Releases a granted lock.
    #[inline(always)]
    pub(super) fn release(&mut self, request: u32) {
        assert!(self.nodes[request as usize].request.state == RequestState::Granted, "only what is held is given back");
        if !self.free_only(request) {
            self.release_beside_others(request);
        }
    }

    #[inline(never)]
    fn release_beside_others(&mut self, request: u32) {
        let Request { head, mode, .. } = self.nodes[request as usize].request;
        self.unlink(GRANTED, request);
        self.free(request);
        self.unhold(head, mode);
        self.settle(head);
    }

    /// Grants the requests that can be granted now; removes the name if no request is left.
    #[inline(always)]
    fn settle(&mut self, head: u32) {
        let Head { lists, converting, .. } = &self.nodes[head as usize].head;
        if *converting > 0 || lists[WAITING].first != NONE {
            self.grant_waiting(head);
        } else if lists[GRANTED].first == NONE {
            self.free_head(head);
        }
    }

    #[cold]
    fn grant_waiting(&mut self, head: u32) {
        let mut at = self.nodes[head as usize].head.lists[GRANTED].first;
        while at != NONE {
            let Request { next, state, wanted, is_momentary, .. } = self.nodes[at as usize].request;
            if state == RequestState::Converting && self.would_convert(at, wanted) {
                if !is_momentary {
                    self.change_mode(at, wanted);
                }
                self.nodes[at as usize].request.state = RequestState::Granted;
                self.nodes[head as usize].head.converting -= 1;
                self.end_wait(at, WaitState::Granted);
            }
            at = next;
        }
        while self.nodes[head as usize].head.converting == 0 {
            let Head { key, lists, modes, .. } = self.nodes[head as usize].head;
            let at = lists[WAITING].first;
            if at == NONE {
                break;
            }
            let Request { wanted, is_momentary, .. } = self.nodes[at as usize].request;
            if self.conflicts(key, wanted) & modes != 0 {
                break;
            }
            self.unlink(WAITING, at);
            self.end_wait(at, WaitState::Granted);
            if is_momentary {
                self.free(at);
            } else {
                let request = &mut self.nodes[at as usize].request;
                (request.state, request.mode) = (RequestState::Granted, wanted);
                self.push(GRANTED, at);
                self.hold(head, wanted);
            }
        }
        let [granted, waiting] = self.nodes[head as usize].head.lists;
        if granted.first == NONE && waiting.first == NONE {
            self.free_head(head);
        }
    }

    /// Tells a waiting owner how its wait ended.
    fn end_wait(&mut self, request: u32, how: WaitState) {
        let waiter = self.nodes[request as usize].waiter.take();
        waiter.expect("who waits can be woken").end(how);
    }

    /// Whether a new request of `mode` can be granted.
    #[inline(always)]
    fn admits(&self, head: u32, mode: LockMode) -> bool {
        let head = &self.nodes[head as usize].head;
        let goes = mode.conflicts() & head.modes == 0 || self.conflicts(head.key, mode) & head.modes == 0;
        goes && head.converting == 0 && head.lists[WAITING].first == NONE
    }

    /// As [`LockMode::conflicts`], except in the manager that is broken for tests. There S goes with U too: a lock that
    /// becomes X must not make a request grantable, as no grant would follow.
    fn conflicts(&self, key: PackedName, wanted: LockMode) -> Modes {
        let ignored = match wanted {
            LockMode::S if self.broken && key.kind() == RECORD => LockMode::U.bit() | LockMode::X.bit(),
            LockMode::X if self.broken && key.kind() == RECORD => LockMode::S.bit(),
            _ => 0,
        };
        wanted.conflicts() & !ignored
    }

    fn change_mode(&mut self, request: u32, to: LockMode) {
        let Request { head, mode, .. } = self.nodes[request as usize].request;
        self.unhold(head, mode);
        self.hold(head, to);
        self.nodes[request as usize].request.mode = to;
    }

    #[inline(always)]
    fn hold(&mut self, head: u32, mode: LockMode) {
        let head = &mut self.nodes[head as usize].head;
        head.holders[mode as usize] += 1;
        head.modes |= mode.bit();
    }

    #[inline(always)]
    fn unhold(&mut self, head: u32, mode: LockMode) {
        let head = &mut self.nodes[head as usize].head;
        head.holders[mode as usize] -= 1;
        if head.holders[mode as usize] == 0 {
            head.modes &= !mode.bit();
        }
    }
}

/// The result of a request for a lock that should be free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncontended {
    /// It was free: this request was granted.
    Granted(u32),
    /// The owner who asks held it, and that suffices.
    Held,
    /// Neither, as far as is known. Nothing has happened.
    Unknown,
}

impl LockPartition {
    /// Grants a request if it is the only one for its name, or finds that what its owner holds suffices.
    #[inline(always)]
    pub(super) fn request_alone(&mut self, key: PackedName, hash: u64, by: By, mode: LockMode) -> Uncontended {
        let head = self.find(key, hash);
        if head == NONE {
            return Uncontended::Granted(self.new_head(key, hash, by, mode));
        }
        // If several have asked, the first may be gone.
        let first = &self.nodes[head as usize].request;
        let held = first.state == RequestState::Granted && first.owner == by.owner && first.mode.covers(mode);
        if held { Uncontended::Held } else { Uncontended::Unknown }
    }

    /// The place in its list of what an owner holds of a name.
    pub(super) fn place(&self, key: PackedName, hash: u64, owner: u32) -> Option<usize> {
        let head = self.find(key, hash);
        let mut at = if head == NONE { NONE } else { self.nodes[head as usize].head.lists[GRANTED].first };
        while at != NONE {
            let request = &self.nodes[at as usize].request;
            if request.owner == owner {
                return Some(request.place as usize);
            }
            at = request.next;
        }
        None
    }

    /// Says where a request stands in its owner's list now.
    pub(super) fn set_place(&mut self, request: u32, place: usize) {
        self.nodes[request as usize].request.place = place as u32;
    }
}

/// Who stands in the way of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    /// The number of the owner.
    pub(crate) owner: u32,
    /// What it holds; nothing if it is only ahead in the queue.
    pub(crate) held: Option<LockMode>,
    /// What it waits for, if it does.
    pub(crate) wanted: Option<LockMode>,
}

impl LockPartition {
    /// What a request is for.
    pub(super) fn name_of(&self, request: u32) -> LockName {
        let head = self.nodes[request as usize].request.head;
        self.nodes[head as usize].head.key.name()
    }

    /// Who stands in the way of a request that waits: for a conversion, those who hold what it cannot go with; for a
    /// new request, those, and all who wait ahead of it. It goes on only when none of them does any more.
    pub(super) fn blockers(&self, request: u32, mut each: impl FnMut(Blocker)) {
        let Request { head, wanted, state, .. } = self.nodes[request as usize].request;
        let Head { key, lists, .. } = self.nodes[head as usize].head;
        let conflicts = self.conflicts(key, wanted);
        let mut at = lists[GRANTED].first;
        while at != NONE {
            let other = &self.nodes[at as usize].request;
            let converting = other.state == RequestState::Converting;
            if at != request && (conflicts & other.mode.bit() != 0 || state == RequestState::Waiting && converting) {
                let wanted = converting.then_some(other.wanted);
                each(Blocker { owner: other.owner, held: Some(other.mode), wanted });
            }
            at = other.next;
        }
        if state != RequestState::Waiting {
            return;
        }
        let mut at = lists[WAITING].first;
        while at != request {
            let other = &self.nodes[at as usize].request;
            each(Blocker { owner: other.owner, held: None, wanted: Some(other.wanted) });
            at = other.next;
        }
    }
}
