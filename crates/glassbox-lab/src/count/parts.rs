//! The parts of the program, by the files in which their code is written; and the calls that a transaction makes, by
//! the functions that make them.

/// Parts of a program.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// Each with the beginnings of its files' names below `crates/`, or the names of libraries that work for it. The
    /// first that fits counts, so what is special stands before what is general.
    pub list: &'static [(&'static str, &'static [&'static str])],
    /// The last part: the rest of our own files, and what could not be charged to anybody.
    pub others: &'static str,
}

impl Parts {
    /// How many there are, the last included.
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

    /// The part to which a file's code belongs; `None` if it works for others: the standard library, say.
    pub fn of_file(&self, path: &str) -> Option<usize> {
        let ours = path.rsplit_once("crates/").map(|(_, inside)| inside);
        let fits = |start: &&str| match start.strip_prefix('/') {
            Some(library) => path.contains("/registry/") && path.contains(&format!("/{library}")),
            None => ours.is_some_and(|inside| inside.starts_with(start)),
        };
        let found = self.list.iter().position(|(_, starts)| starts.iter().any(fits));
        found.or_else(|| ours.filter(|inside| inside.starts_with("glassbox")).map(|_| self.others()))
    }
}

/// The calls that a transaction makes.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// Each with its functions: the beginning of the file's name below `crates/`, and the function's name without its
    /// type. An instruction belongs to the call whose function is the nearest one around it.
    pub list: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// What is outside of all calls.
    pub others: &'static str,
}

impl Calls {
    /// Their names, in order, what is outside of all last.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.list.iter().map(|(name, _)| *name).chain([self.others])
    }

    /// The call that a function belongs to; a closure belongs to the function that it is written in.
    pub fn of_function(&self, path: &str, function: &str) -> Option<usize> {
        let (_, inside) = path.rsplit_once("crates/")?;
        let plain = function.split("::").filter(|segment| !segment.starts_with('{')).last().unwrap_or_default();
        let plain = plain.split('<').next().unwrap_or_default();
        let fits = |(file, name): &(&str, &str)| inside.starts_with(file) && plain == *name;
        self.list.iter().position(|(_, functions)| functions.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: Calls = Calls {
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
        assert_eq!(call("glassbox/src/classic/tree/tree.rs", "Tree::find"), None);
        assert_eq!(call("glassbox/src/classic/engine.rs", "Engine<S>::commit"), Some(1));
        assert_eq!(CALLS.of_function("/rustc/library/core/src/iter.rs", "find"), None);
        assert_eq!(CALLS.names().collect::<Vec<_>>(), ["lookup", "commit", "outside"]);
    }
}
