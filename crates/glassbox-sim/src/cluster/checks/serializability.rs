//! The answers are those of some order, one after the other, that agrees with real time.
//!
//! Every transaction reads a row before it writes its own stamp there, so its answer names the one before it on that
//! row: the order on each row is known, and what is left is whether all of them together have a circle. With real time:
//! one that ended before another began comes before it.

use std::collections::BTreeMap;

use crate::cluster::client::{Done, Finished};

/// See above.
///
/// # Errors
/// What is wrong: a value that nobody wrote, one that two saw last, or a circle.
pub fn serializability(history: &[Finished]) -> Result<(), String> {
    let committed: Vec<_> = history
        .iter()
        .filter_map(|it| if let Done::Committed(seen) = &it.end { Some((it, seen)) } else { None })
        .collect();
    // Of one whose end nobody knows it is not known what it read; somebody may have seen what it wrote.
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

/// Looks for an order: takes away, again and again, what nothing that is left comes before. By real time, what has
/// ended before something else began has to go first; so of what is left, whatever ends first bounds what may go.
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
        // What began after this end has to wait.
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
            // What did not come up yet is found free when it does.
            if before[next] == 0 && committed[next].began_ns <= horizon {
                free.push(next);
            }
        }
    }
}
