//! The answers are those of a serial order that agrees with real time.
//!
//! Every transaction reads a row before it writes its own stamp there, so its answer names its predecessor on that row.
//! The order on each row is therefore known, and all orders together must be acyclic. Real time: a transaction that
//! ended before another began precedes it.

use std::collections::BTreeMap;

use crate::cluster::client::{Done, Finished};

/// See above.
///
/// # Errors
/// The first violation: a value that no transaction wrote, one that two saw last, or a cycle.
pub fn serializability(history: &[Finished]) -> Result<(), String> {
    let committed: Vec<_> = history
        .iter()
        .filter_map(|it| if let Done::Committed(seen) = &it.end { Some((it, seen)) } else { None })
        .collect();
    // What a transaction of unknown outcome read is not known; another transaction may have read what it wrote.
    let unknown: BTreeMap<u32, &Finished> =
        history.iter().filter(|it| it.end == Done::Unknown).map(|it| (it.call.stamp, it)).collect();
    let by_stamp: BTreeMap<u32, usize> =
        committed.iter().enumerate().map(|(at, (it, _))| (it.call.stamp, at)).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); committed.len()];
    let mut next_on_row: BTreeMap<(u8, u16, u32), u32> = BTreeMap::new();
    for (at, (it, seen)) in committed.iter().enumerate() {
        for key in it.call.keys.iter() {
            let read = seen.iter().find(|&&(home, id, _)| (home, id) == *key);
            let &(home, id, value) =
                read.ok_or_else(|| format!("serializability: stamp {} did not hear what {key:?} was", it.call.stamp))?;
            if let Some(other) = next_on_row.insert((home, id, value), it.call.stamp) {
                return Err(format!(
                    "serializability: stamps {other} and {} both followed {value} on {key:?}",
                    it.call.stamp
                ));
            }
            if value == 0 {
                continue;
            }
            if unknown.get(&value).is_some_and(|it| it.call.keys.contains(key)) {
                continue;
            }
            let before = by_stamp.get(&value);
            let before = *before.ok_or_else(|| {
                format!("serializability: stamp {} saw {value} on {key:?}, which was not committed", it.call.stamp)
            })?;
            if !committed[before].0.call.keys.contains(key) {
                return Err(format!(
                    "serializability: stamp {} saw {value} on {key:?}, which did not write there",
                    it.call.stamp
                ));
            }
            after[before].push(at);
        }
    }
    no_circle(&committed.iter().map(|(it, _)| *it).collect::<Vec<_>>(), &after)
}

/// Searches for an order: repeatedly removes a transaction without predecessors. By real time, a transaction that ended
/// before another began has to go first; so among the remaining ones the earliest end bounds what may go.
fn no_circle(committed: &[&Finished], after: &[Vec<usize>]) -> Result<(), String> {
    let mut before = vec![0_usize; committed.len()];
    after.iter().flatten().for_each(|&at| before[at] += 1);
    let mut by_begin: Vec<usize> = (0..committed.len()).collect();
    by_begin.sort_by_key(|&at| committed[at].began_ns);
    let mut by_end: Vec<usize> = (0..committed.len()).collect();
    by_end.sort_by_key(|&at| committed[at].ended_ns);
    let (mut taken, mut free) = (vec![false; committed.len()], Vec::new());
    let (mut begun, mut ended, mut done) = (0, 0, 0);
    loop {
        while ended < by_end.len() && taken[by_end[ended]] {
            ended += 1;
        }
        let Some(&first_end) = by_end.get(ended) else { return Ok(()) };
        // A transaction that began after this end has to wait.
        while begun < by_begin.len() && committed[by_begin[begun]].began_ns <= committed[first_end].ended_ns {
            if before[by_begin[begun]] == 0 {
                free.push(by_begin[begun]);
            }
            begun += 1;
        }
        let Some(at) = free.pop() else {
            let left = by_end[ended..].iter().filter(|&&at| !taken[at]).take(4);
            let stamps: Vec<_> = left.map(|&at| committed[at].call.stamp).collect();
            return Err(format!(
                "serializability: after {done} transactions no order is left for the rest, among them {stamps:?}"
            ));
        };
        taken[at] = true;
        done += 1;
        let horizon = committed[first_end].ended_ns;
        for &next in &after[at] {
            before[next] -= 1;
            // One that was not considered yet is found ready when it is.
            if before[next] == 0 && committed[next].began_ns <= horizon {
                free.push(next);
            }
        }
    }
}
