//! Links that a test can cut: each member dials the others through them.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use glassbox_cluster::Address;
use glassbox_cluster::run::Processes;

/// The interval in which a link without messages notices that it is cut.
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
struct State {
    is_cut: AtomicBool,
    is_over: AtomicBool,
}

/// The links of a cluster, by the member that dials and the one that is dialed.
#[derive(Debug, Default)]
pub struct Links(BTreeMap<(Address, Address), (SocketAddr, Arc<State>)>);

impl Links {
    pub fn new(cluster: &Processes) -> Self {
        let mut links = BTreeMap::new();
        for me in cluster.shape().machines() {
            for (other, to) in cluster.calls(me).unwrap() {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let state = Arc::new(State::default());
                links.insert((me, other), (listener.local_addr().unwrap(), Arc::clone(&state)));
                std::thread::spawn(move || accept(&listener, to, &state));
            }
        }
        Self(links)
    }

    /// The cluster as a member knows it.
    pub fn as_known_to(&self, me: Address, cluster: &Processes) -> Processes {
        let mut known = cluster.clone();
        for (node, other) in known.nodes.iter_mut().zip(cluster.shape().machines()) {
            if let Some((link, _)) = self.0.get(&(me, other)) {
                *node = *link;
            }
        }
        known
    }

    /// Cuts the links between these pairs of members; others are mended.
    pub fn cut(&self, is_cut: impl Fn(Address, Address) -> bool) {
        for ((one, other), (_, state)) in &self.0 {
            state.is_cut.store(is_cut(*one, *other) || is_cut(*other, *one), Ordering::Relaxed);
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for (at, state) in self.0.values() {
            state.is_over.store(true, Ordering::Relaxed);
            drop(TcpStream::connect(at));
        }
    }
}

/// Forwards connections to a member. One that is down is dialed again by the caller.
fn accept(listener: &TcpListener, to: SocketAddr, state: &Arc<State>) {
    for caller in listener.incoming() {
        if state.is_over.load(Ordering::Relaxed) {
            return;
        }
        let (Ok(caller), Ok(called)) = (caller, TcpStream::connect(to)) else { continue };
        for (from, to) in [(&caller, &called), (&called, &caller)] {
            let from = from.try_clone().unwrap();
            let to = to.try_clone().unwrap();
            let state = Arc::clone(state);
            std::thread::spawn(move || forward(from, to, &state));
        }
    }
}

/// Forwards one direction of a connection. Its end loses what arrived during a cut.
fn forward(mut from: TcpStream, mut to: TcpStream, state: &State) {
    // Either party may be gone already.
    let _ = (from.set_read_timeout(Some(LOOK_EVERY)), to.set_nodelay(true));
    let mut bytes = [0; 1 << 14];
    loop {
        let read = from.read(&mut bytes);
        if state.is_cut.load(Ordering::Relaxed) {
            while state.is_cut.load(Ordering::Relaxed) && !state.is_over.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK_EVERY);
            }
            break;
        }
        let is_over = match read {
            Ok(0) => true,
            Ok(count) => to.write_all(&bytes[..count]).is_err(),
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        if is_over {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
