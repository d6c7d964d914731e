//! Attribution: the owner of each instruction.

use std::collections::HashMap;
use std::path::Path;

use addr2line::gimli::Reader;
use addr2line::{Frame, Loader};
use anyhow::{Context, anyhow, ensure};
use object::{Object, ObjectSymbol};

use super::parts::{CallMap, PartMap, in_workspace};
use super::profile::{FunctionId, Profile};

/// Maximum number of passes over all functions: longer than any chain of callers without an owner.
const MAX_PASSES: usize = 100;

/// A function of the source, inlined or not, that owns instructions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    /// The part to which its file belongs.
    pub part: usize,
    /// Its name.
    pub function: String,
}

/// An owner, by its index in a list.
type OwnerId = usize;

/// The first of every list: the owner of instructions without a known caller.
const UNOWNED: OwnerId = 0;

/// A number for each owner, by its index.
type Shares = Vec<f64>;

/// The instructions of a profile, attributed.
#[derive(Debug, PartialEq)]
pub(super) struct Attributed {
    /// Instructions of each owner; they sum to the profile's total.
    pub owners: Vec<(Owner, f64)>,
    /// Instructions of each call, those outside of all calls last; they sum to the profile's total.
    pub calls: Vec<f64>,
    /// Those in functions that copy, compare or fill memory.
    pub copying: u64,
    /// Those in the allocator.
    pub allocating: u64,
}

/// The list of owners found so far.
struct Owners {
    list: Vec<Owner>,
    known: HashMap<Owner, OwnerId>,
}

impl Owners {
    fn new(parts: &PartMap) -> Self {
        let mut owners = Self { list: Vec::new(), known: HashMap::new() };
        owners.id(Owner { part: parts.others(), function: "(unowned)".to_owned() });
        owners
    }

    fn id(&mut self, owner: Owner) -> OwnerId {
        *self.known.entry(owner).or_insert_with_key(|owner| {
            self.list.push(owner.clone());
            self.list.len() - 1
        })
    }
}

/// Refuses a program that was built without debugging information: all its instructions would be without an owner.
///
/// # Errors
/// When the program has none of its own functions, with the command that builds it with them.
pub(super) fn check_debugging_information(program: &Path) -> anyhow::Result<()> {
    let file = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let file = object::File::parse(&*file).with_context(|| format!("cannot read {}", program.display()))?;
    let loader = Loader::new(program).map_err(|error| anyhow!("cannot read {}: {error}", program.display()))?;
    // Other crates, as the standard library, have some in every build.
    let mut own = file.symbols().filter(|symbol| symbol.is_definition() && symbol.name().is_ok_and(is_own_function));
    let has_source = own.any(|symbol| {
        let found = loader.find_location(symbol.address()).ok().flatten();
        found.and_then(|location| location.file).is_some_and(|file| in_workspace(file).is_some())
    });
    ensure!(
        has_source,
        "this program was built without debugging information, so its instructions cannot be attributed: build it with \
         that in a checkout and count there: cargo lab {}",
        std::env::args().skip(1).collect::<Vec<_>>().join(" ")
    );
    Ok(())
}

/// Whether a symbol is of the laboratory's own code.
fn is_own_function(symbol: &str) -> bool {
    symbol.contains("glassbox_lab")
}

/// Finds the owner of every address of `program` by its debugging information, and sums the instructions of each.
///
/// # Errors
/// When the program's debugging information cannot be read.
pub(super) fn attribute(
    profile: &Profile,
    program: &Path,
    parts: &PartMap,
    calls: Option<&CallMap>,
) -> anyhow::Result<Attributed> {
    let unreadable = |error| anyhow!("cannot read the debugging information of {}: {error}", program.display());
    let loader = Loader::new(program).map_err(unreadable)?;
    let of_program: Vec<_> = profile.functions.iter().map(|function| Path::new(&function.object) == program).collect();
    let mut owners = Owners::new(parts);
    let sums = {
        let find = |address| innermost(&loader, address, &mut |file, name| Some((parts.of_file(file)?, name())));
        let mut known = HashMap::new();
        let mut owner_of = |function: FunctionId, address| {
            let find = || find(address).map(|(part, function)| owners.id(Owner { part, function }));
            *known.entry((function, address)).or_insert_with(|| of_program[function].then(find).flatten())
        };
        sum(profile, &mut owner_of)
    };
    let by_call = calls.map_or_else(Vec::new, |calls| sum_calls(profile, &loader, &of_program, calls));
    Ok(finish(profile, owners.list, sums, by_call))
}

/// Instructions of each call, by the functions around them.
fn sum_calls(profile: &Profile, loader: &Loader, of_program: &[bool], calls: &CallMap) -> Vec<f64> {
    let find = |address| innermost(loader, address, &mut |file, name| calls.of_function(file, &name()));
    let mut known = HashMap::new();
    let mut call_of = |function: FunctionId, address| {
        let find = || of_program[function].then(|| find(address)).flatten();
        // The first index is for instructions outside of all calls.
        known.entry((function, address)).or_insert_with(find).map(|call| call + 1)
    };
    let mut sums = sum(profile, &mut call_of);
    sums.resize(calls.list.len() + 1, 0.0);
    let outside = sums.remove(UNOWNED);
    sums.push(outside);
    sums
}

/// The result of `of` for the innermost inlined function at an address for which it returns one. Its arguments are the
/// file, and the file below `crates/` with the function's name, on demand.
#[allow(clippy::type_complexity)] // the type is used here alone
fn innermost<T>(
    loader: &Loader,
    address: u64,
    of: &mut dyn FnMut(&str, &dyn Fn() -> String) -> Option<T>,
) -> Option<T> {
    let mut frames = loader.find_frames(address).ok()?;
    while let Ok(Some(frame)) = frames.next() {
        let file = frame.location.as_ref().and_then(|location| location.file);
        if let Some(found) = file.and_then(|file| of(file, &|| name_of(&frame))) {
            return Some(found);
        }
    }
    None
}

/// The frame's file below `crates/`, and its function's name.
fn name_of<R: Reader>(frame: &Frame<'_, R>) -> String {
    let name = frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
    let file = frame.location.as_ref().and_then(|location| in_workspace(location.file?));
    format!("{} {}", file.unwrap_or_default(), short(&name.unwrap_or_default()))
}

/// A function's name without the path, which its file contains: the type, if it is a plain one, and the rest.
fn short(name: &str) -> String {
    let (mut segments, mut depth) = (vec![String::new()], 0_usize);
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                if segments.last().is_some_and(|last| !last.is_empty()) {
                    segments.push(String::new());
                }
                continue;
            }
            _ => {}
        }
        segments.last_mut().expect("there is one").push(letter);
    }
    // Such a segment is a type with its trait, with all their paths.
    segments.retain(|segment| !segment.starts_with('<'));
    let closures = segments.iter().rev().take_while(|segment| segment.starts_with('{')).count();
    segments.split_off(segments.len().saturating_sub(2 + closures)).join("::")
}

/// Instructions of each owner. Those without an owner are charged to the callers of their function, in proportion to
/// the instructions of their calls.
fn sum(profile: &Profile, owner_of: &mut dyn FnMut(FunctionId, u64) -> Option<OwnerId>) -> Shares {
    let mut sums = vec![0.0];
    let mut unowned = vec![0; profile.functions.len()];
    let mut callers = vec![Vec::new(); profile.functions.len()];
    let room = |sums: &mut Shares, owner: OwnerId| sums.resize(sums.len().max(owner + 1), 0.0);
    for cost in &profile.costs {
        match owner_of(cost.function, cost.address) {
            Some(owner) => {
                room(&mut sums, owner);
                sums[owner] += cost.instructions as f64;
            }
            None => unowned[cost.function] += cost.instructions,
        }
    }
    for calls in &profile.calls {
        let owner = owner_of(calls.caller, calls.address);
        room(&mut sums, owner.unwrap_or_default());
        callers[calls.callee].push((calls.caller, owner, calls.instructions as f64));
    }
    for (shares, instructions) in shares_of_callers(&callers, sums.len()).iter().zip(unowned) {
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum += share * instructions as f64;
        }
    }
    sums
}

fn finish(profile: &Profile, owners: Vec<Owner>, sums: Shares, calls: Vec<f64>) -> Attributed {
    let within = |names: &[&str]| {
        let is_named = |function: FunctionId| names.iter().any(|name| profile.functions[function].name.contains(name));
        profile.costs.iter().filter(|cost| is_named(cost.function)).map(|cost| cost.instructions).sum()
    };
    Attributed {
        owners: owners.into_iter().zip(sums).collect(),
        calls,
        copying: within(&["memcpy", "memmove", "memset", "memcmp", "bcmp"]),
        allocating: within(&["malloc", "calloc", "realloc", "free", "_int_", "memalign", "mi_"]),
    }
}

/// A call of a function: the caller, the owner of the call if it has one, and the instructions called.
type Caller = (FunctionId, Option<OwnerId>, f64);

/// For each function, the owners that its instructions without an owner are charged to; their shares sum to one.
///
/// A caller without an owner passes its share on to its own callers. Functions may be mutually recursive, so this is
/// repeated until nothing changes; the shares of a cycle then belong to its callers from outside.
fn shares_of_callers(callers: &[Vec<Caller>], owners: usize) -> Vec<Shares> {
    let mut all = vec![vec![0.0; owners]; callers.len()];
    for _ in 0..MAX_PASSES {
        let mut changed = false;
        for function in 0..callers.len() {
            let mut shares = vec![0.0; owners];
            for (caller, owner, instructions) in &callers[function] {
                match owner {
                    Some(owner) => shares[*owner] += instructions,
                    None => shares.iter_mut().zip(&all[*caller]).for_each(|(sum, share)| *sum += share * instructions),
                }
            }
            let sum: f64 = shares.iter().sum();
            if sum > 0.0 {
                shares.iter_mut().for_each(|share| *share /= sum);
            }
            changed |= shares.iter().zip(&all[function]).any(|(new, old)| (new - old).abs() > 1e-6);
            all[function] = shares;
        }
        if !changed {
            break;
        }
    }
    for shares in all.iter_mut().filter(|shares| shares.iter().sum::<f64>() == 0.0) {
        shares[UNOWNED] = 1.0;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_debugging_information_is_refused() {
        check_debugging_information(&std::env::current_exe().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let [source, program] = ["bare.c", "bare"].map(|name| directory.path().join(name));
        std::fs::write(&source, "void glassbox_lab_run(void) {}\nint main(void) { return 0; }\n").unwrap();
        let compiled = std::process::Command::new("cc").args([&source, Path::new("-o"), &program]).status().unwrap();
        assert!(compiled.success());
        let refused = check_debugging_information(&program).unwrap_err().to_string();
        assert!(refused.contains("cargo lab "), "{refused}");
    }

    #[test]
    fn names_are_short() {
        assert_eq!(
            short("glassbox::partitioned::engine::Engine::attempt::{{closure}}"),
            "Engine::attempt::{{closure}}"
        );
        assert_eq!(short("<glassbox::a::Table<R> as glassbox::b::Any>::step"), "step");
        assert_eq!(short("a::tree::<impl a::Tree<K,_>>::insert"), "tree::insert");
        assert_eq!(short("kernel::Slab<a::T>::get"), "Slab<a::T>::get");
        assert_eq!((short("main"), short("")), ("main".to_owned(), String::new()));
    }

    #[test]
    fn helpers_are_charged_to_their_callers() {
        let profile = Profile::parse([
            "fn=run\n0x10 10\n0x14 20\ncfn=copy\ncalls=1 0x90\n0x10 30\ncfn=copy\ncalls=1 0x90\n0x14 90\n\
             fn=copy\n0x90 20\ncfn=memcpy\ncalls=2 0xa0\n0x94 100\nfn=memcpy\n0xa0 100\nfn=start\n0xf0 7\n\
             totals: 157\n",
        ])
        .unwrap();
        // A quarter of the cost of `copy`, with its calls, is called from 0x10, which is the first owner's.
        let owner_of = |_, address| [(0x10, 1), (0x14, 2)].into_iter().find(|it| it.0 == address).map(|it| it.1);
        let sums = sum(&profile, &mut { owner_of });
        assert_eq!(sums, [7.0, 10.0 + 30.0, 20.0 + 90.0]);
        let owners = ["(unowned)", "a", "b"].map(|name| Owner { part: 0, function: name.to_owned() });
        let attributed = finish(&profile, owners.to_vec(), sums, Vec::new());
        assert_eq!((attributed.copying, attributed.allocating, attributed.owners[2].1), (100, 0, 110.0));
    }

    #[test]
    fn mutually_recursive_functions_are_charged_to_their_callers() {
        let profile = Profile::parse([
            "fn=run\n0x10 1\ncfn=a\ncalls=1 0x20\n0x10 50\nfn=a\n0x20 10\ncfn=b\ncalls=1 0x30\n0x20 40\n\
             fn=b\n0x30 20\ncfn=a\ncalls=1 0x20\n0x30 20\ntotals: 31\n",
        ])
        .unwrap();
        assert_eq!(sum(&profile, &mut |_, address| (address == 0x10).then_some(3)), [0.0, 0.0, 0.0, 31.0]);
    }
}
