//! The parts of the program, by source files; and the calls that a transaction makes, by functions.

/// The parts of a program, and their files.
#[derive(Debug, Clone, Copy)]
pub struct PartMap {
    /// Each with the prefixes of its files' names below `crates/`, or the names of libraries that it uses. The first
    /// match wins, so specific prefixes precede general ones.
    pub list: &'static [(&'static str, &'static [&'static str])],
    /// The last part: all other files of the workspace, and unowned instructions.
    pub others: &'static str,
}

impl PartMap {
    /// Their number, including the last.
    pub const fn count(&self) -> usize {
        self.list.len() + 1
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.list.iter().map(|(name, _)| *name).chain([self.others])
    }

    /// The number of the last part.
    pub const fn others(&self) -> usize {
        self.list.len()
    }

    /// The part to which a file's code belongs; `None` if it belongs to its callers, such as the standard library.
    pub fn of_file(&self, path: &str) -> Option<usize> {
        let ours = in_workspace(path);
        let fits = |start: &&str| match start.strip_prefix('/') {
            Some(library) => path.contains("/registry/") && path.contains(&format!("/{library}")),
            None => ours.is_some_and(|inside| inside.starts_with(start)),
        };
        let found = self.list.iter().position(|(_, starts)| starts.iter().any(fits));
        found.or_else(|| ours.filter(|inside| inside.starts_with("glassbox")).map(|_| self.others()))
    }
}

/// The calls that a transaction makes, and their functions.
#[derive(Debug, Clone, Copy)]
pub struct CallMap {
    /// Each with its functions: the prefix of the file's name below `crates/`, and the function's name without its
    /// type. An instruction belongs to the call of its nearest enclosing function.
    pub list: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// The name of the instructions outside of all calls.
    pub others: &'static str,
}

impl CallMap {
    /// Their names, in order; the last is [`CallMap::others`].
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.list.iter().map(|(name, _)| *name).chain([self.others])
    }

    /// The call that a function belongs to; a closure belongs to the function that contains it.
    pub fn of_function(&self, path: &str, function: &str) -> Option<usize> {
        let inside = in_workspace(path)?;
        let plain = function.split("::").filter(|segment| !segment.starts_with('{')).last().unwrap_or_default();
        // A method of a trait stands behind the file, without its type.
        let plain = plain.split('<').next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
        let fits = |(file, name): &(&str, &str)| inside.starts_with(file) && plain == *name;
        self.list.iter().position(|(_, functions)| functions.iter().any(fits))
    }
}

/// What the maps name that the source does not have: a file that was renamed would silently count as something else.
/// A source file of the workspace, from the folder of its crate on.
pub(super) fn in_workspace(path: &str) -> Option<&str> {
    let in_crates = path.rsplit_once("crates/").map(|(_, inside)| inside);
    in_crates.or_else(|| path.rfind("lab/glassbox-").map(|at| &path[at + "lab/".len()..]))
}

#[cfg(test)]
mod stale {
    use std::fs;
    use std::path::Path;

    use super::{CallMap, PartMap};

    /// Name, below the folder of its crate, and text of each source file of the workspace.
    fn sources() -> Vec<(String, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let mut folders = vec![root.join("crates"), root.join("lab")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = super::in_workspace(path.to_str().unwrap()).unwrap().to_owned();
                    files.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        files
    }

    impl PartMap {
        /// The prefixes with which no file begins.
        pub(crate) fn stale_files(&self) -> Vec<&'static str> {
            let sources = sources();
            let starts = self.list.iter().flat_map(|(_, starts)| starts.iter().copied());
            let missing = |start: &&str| !sources.iter().any(|(name, _)| name.starts_with(start));
            starts.filter(|start| !start.starts_with('/')).filter(missing).collect()
        }
    }

    impl CallMap {
        /// The functions that no file of theirs defines.
        pub(crate) fn stale_functions(&self) -> Vec<(&'static str, &'static str)> {
            let sources = sources();
            let functions = self.list.iter().flat_map(|(_, functions)| functions.iter().copied());
            let missing = |(start, function): &(&str, &str)| {
                let defined = [format!("fn {function}("), format!("fn {function}<")];
                let defines = |text: &str| defined.iter().any(|start| text.contains(start));
                !sources.iter().any(|(name, text)| name.starts_with(start) && defines(text))
            };
            functions.filter(missing).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: CallMap = CallMap {
        list: &[
            ("lookup", &[("glassbox/src/classic/transaction", "find")]),
            ("commit", &[("glassbox/src/classic/engine", "commit")]),
        ],
        others: "outside",
    };

    #[test]
    fn functions_belong_to_calls_by_file_and_name() {
        let call = |file: &str, function: &str| CALLS.of_function(&format!("/home/me/crates/{file}"), function);
        assert_eq!(call("glassbox/src/classic/transaction.rs", "StackTransaction<S>::find"), Some(0));
        assert_eq!(call("glassbox/src/classic/transaction.rs", "StackTransaction<S>::find::{{closure}}"), Some(0));
        assert_eq!(call("glassbox/src/classic/transaction.rs", "StackTransaction<S>::find<R>"), Some(0));
        assert_eq!(call("glassbox/src/classic/transaction.rs", "StackTransaction<S>::find_all"), None);
        let of_trait = "glassbox/src/classic/transaction.rs find";
        assert_eq!(call("glassbox/src/classic/transaction.rs", of_trait), Some(0));
        assert_eq!(call("glassbox/src/classic/tree/tree.rs", "Tree::find"), None);
        assert_eq!(call("glassbox/src/classic/engine/mod.rs", "Engine<S>::commit"), Some(1));
        assert_eq!(CALLS.of_function("/rustc/library/core/src/iter.rs", "find"), None);
        assert_eq!(CALLS.names().collect::<Vec<_>>(), ["lookup", "commit", "outside"]);
    }
}
