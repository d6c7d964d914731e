//! To which part each instruction belongs.

use std::collections::HashMap;
use std::path::Path;

use addr2line::Loader;
use anyhow::anyhow;

use super::parts::{self, OTHERS};
use super::profile::{FunctionId, Profile};

/// Passes over all functions: more than any chain of callers without a part is long.
const MOST_PASSES: usize = 100;

/// Instructions by part.
type Shares = [f64; parts::COUNT];

/// What a profile comes to.
#[derive(Debug, PartialEq)]
pub(super) struct Attributed {
    /// Instructions by part; they sum to the profile's total.
    pub parts: Shares,
    /// Of all, those in functions that copy, compare or fill memory.
    pub copying: u64,
    /// Of all, those in the allocator.
    pub allocating: u64,
}

/// Finds the part of every address of `program` by its debugging information, and sums up.
///
/// # Errors
/// When the program's debugging information cannot be read.
pub(super) fn attribute(profile: &Profile, program: &Path) -> anyhow::Result<Attributed> {
    let unreadable = |error| anyhow!("cannot read the debugging information of {}: {error}", program.display());
    let loader = Loader::new(program).map_err(unreadable)?;
    let mut known = HashMap::new();
    let of_program = |object: &str| Path::new(object) == program;
    Ok(sum(profile, |function, address| {
        let inside = of_program(&profile.functions[function].object);
        *known.entry((inside, address)).or_insert_with(|| inside.then(|| innermost_part(&loader, address)).flatten())
    }))
}

/// The part of the innermost inlined function at an address that belongs to one.
fn innermost_part(loader: &Loader, address: u64) -> Option<usize> {
    let mut frames = loader.find_frames(address).ok()?;
    while let Ok(Some(frame)) = frames.next() {
        if let Some(part) = frame.location.and_then(|location| parts::of_file(location.file?)) {
            return Some(part);
        }
    }
    None
}

/// Sums up; what has no part is charged to the callers of its function, in proportion to what they called.
fn sum(profile: &Profile, mut part_of: impl FnMut(FunctionId, u64) -> Option<usize>) -> Attributed {
    let mut parts = [0.0; parts::COUNT];
    let mut unowned = vec![0; profile.functions.len()];
    for cost in &profile.costs {
        match part_of(cost.function, cost.address) {
            Some(part) => parts[part] += cost.instructions as f64,
            None => unowned[cost.function] += cost.instructions,
        }
    }
    let mut callers = vec![Vec::new(); profile.functions.len()];
    for calls in &profile.calls {
        callers[calls.callee].push((calls.caller, part_of(calls.caller, calls.address), calls.instructions as f64));
    }
    for (shares, instructions) in answerable(&callers).iter().zip(unowned) {
        for (sum, share) in parts.iter_mut().zip(shares) {
            *sum += share * instructions as f64;
        }
    }
    let within = |names: &[&str]| {
        let is_named = |function: FunctionId| names.iter().any(|name| profile.functions[function].name.contains(name));
        profile.costs.iter().filter(|cost| is_named(cost.function)).map(|cost| cost.instructions).sum()
    };
    Attributed {
        parts,
        copying: within(&["memcpy", "memmove", "memset", "memcmp", "bcmp"]),
        allocating: within(&["malloc", "calloc", "realloc", "free", "_int_", "memalign"]),
    }
}

/// A call of a function: the caller, the part of the call if it has one, and the instructions called.
type Caller = (FunctionId, Option<usize>, f64);

/// The parts that answer for each function's instructions that have none; their shares sum to one.
///
/// A caller that has no part itself passes on to its own callers. Functions may call each other, so this is repeated
/// until nothing changes; a circle is then answered for by those who called into it.
fn answerable(callers: &[Vec<Caller>]) -> Vec<Shares> {
    let mut all = vec![[0.0; parts::COUNT]; callers.len()];
    for _ in 0..MOST_PASSES {
        let mut changed = false;
        for function in 0..callers.len() {
            let mut shares = [0.0; parts::COUNT];
            for (caller, part, instructions) in &callers[function] {
                match part {
                    Some(part) => shares[*part] += instructions,
                    None => shares.iter_mut().zip(all[*caller]).for_each(|(sum, share)| *sum += share * instructions),
                }
            }
            let sum: f64 = shares.iter().sum();
            if sum > 0.0 {
                shares = shares.map(|share| share / sum);
            }
            changed |= shares.iter().zip(&all[function]).any(|(new, old)| (new - old).abs() > 1e-6);
            all[function] = shares;
        }
        if !changed {
            break;
        }
    }
    for shares in all.iter_mut().filter(|shares| shares.iter().sum::<f64>() == 0.0) {
        shares[OTHERS] = 1.0;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: usize = 5;

    #[test]
    fn helpers_are_charged_to_those_who_call_them() {
        let profile = Profile::parse(
            "fn=run\n0x10 10\n0x14 20\ncfn=copy\ncalls=1 0x90\n0x10 30\ncfn=copy\ncalls=1 0x90\n0x14 90\n\
             fn=copy\n0x90 20\ncfn=memcpy\ncalls=2 0xa0\n0x94 100\nfn=memcpy\n0xa0 100\nfn=start\n0xf0 7\n\
             totals: 157\n",
        )
        .unwrap();
        // A quarter of what `copy` costs, and of what it calls, is called from 0x10, which is the first part's.
        let attributed = sum(&profile, |_, address| match address {
            0x10 => Some(0),
            0x14 => Some(TREE),
            _ => None,
        });
        let mut parts = [0.0; parts::COUNT];
        (parts[0], parts[TREE], parts[OTHERS]) = (10.0 + 30.0, 20.0 + 90.0, 7.0);
        assert_eq!(attributed, Attributed { parts, copying: 100, allocating: 0 });
    }

    #[test]
    fn those_who_call_each_other_are_charged_to_who_called_them() {
        let profile = Profile::parse(
            "fn=run\n0x10 1\ncfn=a\ncalls=1 0x20\n0x10 50\nfn=a\n0x20 10\ncfn=b\ncalls=1 0x30\n0x20 40\n\
             fn=b\n0x30 20\ncfn=a\ncalls=1 0x20\n0x30 20\ntotals: 31\n",
        )
        .unwrap();
        let attributed = sum(&profile, |_, address| (address == 0x10).then_some(TREE));
        assert_eq!((attributed.parts[TREE], attributed.parts.iter().sum::<f64>()), (31.0, 31.0));
    }
}
