//! Plays small scenarios that are written down as text with what must come of each step.
//!
//! ```text
//! t1 X 1.7.0            granted          transaction 1 locks record 7.0 of store 1
//! t2 S 1.7.0            waits
//! t3 try S 1.7.0        would block      without waiting
//! t1 end                done; t2 granted
//! ```
//!
//! Each transaction has its thread. A step is over when every thread has nothing to do or waits in a queue; what others
//! got because of it stands behind its own result. Names: `all`, store `1`, page `1.7`, record `1.7.0`, `1.end`.
//! Further steps: `S!` for a momentary lock, `release NAME`, `work N`, `holds`, and `pass N` (the clock, in ms).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time;

use super::super::{Duration, LockConfig, LockManager, LockMode, LockName, Locks, Outcome, Owner};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::io::ManualClock;

/// How long a step may take until something is wrong.
const PATIENCE: time::Duration = time::Duration::from_secs(20);

struct Client {
    number: u32,
    steps: Sender<String>,
    /// The result of the latest step, until it is taken; `busy` as long as there is none.
    result: Arc<Mutex<State>>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    busy: bool,
    result: Option<String>,
}

/// Plays `script` and checks that it says what happened. Gives the manager for further questions.
pub(super) fn play(config: LockConfig, script: &str) -> Arc<LockManager> {
    let clock = ManualClock::default();
    let manager = Arc::new(LockManager::new(config, Arc::new(clock.clone())));
    let mut clients = BTreeMap::new();
    // In the order of their names, so that numbers of owners are as those of transactions.
    let mut names: Vec<&str> = script.split_whitespace().filter(|word| is_client(word)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        clients.insert(name, client(&manager));
    }
    let mut happened = String::new();
    let mut expected_text = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (step, expected) = line.split_once("  ").expect("a step, two spaces, what comes of it");
        let expected = expected.trim();
        let outcome = step_once(&manager, &clock, &clients, step, expected);
        writeln!(happened, "{step:<20}  {outcome}").unwrap();
        writeln!(expected_text, "{step:<20}  {expected}").unwrap();
    }
    assert_eq!(happened, expected_text, "what happened, and what the script says");
    for (name, client) in clients {
        assert!(!client.result.lock().unwrap().busy, "{name} still waits when the script ends");
        drop(client.steps);
        client.thread.join().unwrap();
    }
    assert_eq!(manager.names(), 0, "something is left");
    manager
}

fn is_client(word: &str) -> bool {
    word.strip_prefix('t').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn client(manager: &Arc<LockManager>) -> Client {
    let (steps, incoming) = channel();
    let result = Arc::<Mutex<State>>::default();
    let owner = manager.owner();
    let number = owner.number();
    let thread = {
        let (manager, result) = (manager.clone(), result.clone());
        thread::spawn(move || run(&manager, owner, &incoming, &result))
    };
    Client { number, steps, result, thread }
}

fn run(manager: &LockManager, mut owner: Owner, incoming: &Receiver<String>, result: &Mutex<State>) {
    for step in incoming {
        let done = act(manager, &mut owner, &step);
        *result.lock().unwrap() = State { busy: false, result: Some(done) };
    }
    manager.release_all(&mut owner);
}

/// Does one step and waits until all is quiet.
fn step_once(
    manager: &LockManager,
    clock: &ManualClock,
    clients: &BTreeMap<&str, Client>,
    step: &str,
    expected: &str,
) -> String {
    let (who, what) = step.split_once(' ').expect("who and what");
    let mut result = String::new();
    if who == "pass" {
        clock.advance_ns(what.parse::<u64>().expect("milliseconds") * 1_000_000);
    } else {
        let client = &clients[who];
        let before = std::mem::replace(&mut client.result.lock().unwrap().busy, true);
        assert!(!before, "{who} has not finished its last step");
        client.steps.send(what.to_owned()).unwrap();
        settle(manager, clients);
        let done = client.result.lock().unwrap().result.take();
        result = done.unwrap_or_else(|| "waits".to_owned());
    }
    let began = time::Instant::now();
    loop {
        settle(manager, clients);
        for (name, client) in clients {
            if let Some(done) = client.result.lock().unwrap().result.take() {
                let separator = if result.is_empty() { "" } else { "; " };
                write!(result, "{separator}{name} {done}").unwrap();
            }
        }
        // A waiter looks at the clock when it wakes, so after time has passed an expected result may be late.
        if who != "pass" || result == expected || began.elapsed() > PATIENCE {
            return result;
        }
        if expected == "nothing" {
            return if result.is_empty() { expected.to_owned() } else { result };
        }
        thread::sleep(time::Duration::from_micros(100));
    }
}

/// Waits until every thread has nothing to do or waits in a queue.
fn settle(manager: &LockManager, clients: &BTreeMap<&str, Client>) {
    let began = time::Instant::now();
    let quiet = |client: &Client| {
        // In this order: a client that was found waiting may be granted then, but not by a quiet one.
        !client.result.lock().unwrap().busy || manager.is_waiting(client.number)
    };
    // Twice, because one who was quiet may have been woken by one who was not yet.
    while !(clients.values().all(quiet) && clients.values().all(quiet)) {
        assert!(began.elapsed() < PATIENCE, "a step does not end");
        thread::sleep(time::Duration::from_micros(20));
    }
}

fn act(manager: &LockManager, owner: &mut Owner, step: &str) -> String {
    let words: Vec<&str> = step.split_whitespace().collect();
    match words[..] {
        ["end"] => {
            manager.release_all(owner);
            "done".to_owned()
        }
        ["release", name] => {
            manager.release(owner, parse_name(name));
            "done".to_owned()
        }
        ["work", work] => {
            manager.set_work(owner, work.parse().unwrap());
            "done".to_owned()
        }
        ["holds"] => {
            let mut locks: Vec<_> = owner.locks().collect();
            locks.sort();
            let locks: Vec<String> = locks.iter().map(|(name, mode)| format!("{mode:?} {}", show(*name))).collect();
            if locks.is_empty() { "nothing".to_owned() } else { locks.join(", ") }
        }
        ["try", mode, name] => lock(manager, owner, mode, name, false),
        [mode, name] => lock(manager, owner, mode, name, true),
        _ => panic!("no step: {step}"),
    }
}

fn lock(manager: &LockManager, owner: &mut Owner, mode: &str, name: &str, wait: bool) -> String {
    let (mode, duration) = match mode.strip_suffix('!') {
        Some(mode) => (mode, Duration::Momentary),
        None => (mode, Duration::Commit),
    };
    let mode = LockMode::ALL.into_iter().find(|known| format!("{known:?}") == mode).expect("a mode");
    match manager.lock(owner, parse_name(name), mode, wait, duration) {
        Outcome::Granted => "granted",
        Outcome::WouldBlock => "would block",
        Outcome::Deadlock => "deadlock",
        Outcome::Timeout => "timeout",
    }
    .to_owned()
}

fn parse_name(name: &str) -> LockName {
    let number = |word: &str| word.parse::<u32>().expect("a number");
    let store = |word: &str| StoreId(number(word));
    match name.split('.').collect::<Vec<_>>()[..] {
        ["all"] => LockName::Volume,
        [one] => LockName::Store(store(one)),
        [one, "end"] => LockName::End(store(one)),
        [one, page] => LockName::Page(store(one), PageId(number(page))),
        [one, page, slot] => {
            LockName::Record(store(one), Rid { page: PageId(number(page)), slot: number(slot) as u16 })
        }
        _ => panic!("no name: {name}"),
    }
}

fn show(name: LockName) -> String {
    match name {
        LockName::Volume => "all".to_owned(),
        LockName::Store(store) => format!("{store}"),
        LockName::End(store) => format!("{store}.end"),
        LockName::Page(store, page) => format!("{store}.{page}"),
        LockName::Record(store, rid) => format!("{store}.{rid}"),
    }
}
