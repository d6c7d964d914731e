//! The names of the stacks.

use std::fmt;
use std::str::FromStr;

use super::list::named_stacks;

macro_rules! name {
    ($($name:ident $called:literal $what:literal $components:tt;)*) => {
        /// A named stack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum StackName {
            $(
                #[doc = concat!("`", $called, "`: ", $what, ".")]
                $name,
            )*
        }

        impl StackName {
            /// All of them: the ladder in its order, then the others.
            pub const ALL: &[StackName] = &[$(StackName::$name),*];

            /// The stack's name, such as `no-disk-log`.
            pub fn name(self) -> &'static str {
                match self {
                    $(StackName::$name => $called,)*
                }
            }

            /// A short description of the removed components.
            pub fn what(self) -> &'static str {
                match self {
                    $(StackName::$name => $what,)*
                }
            }
        }
    };
}
named_stacks!(name);

impl StackName {
    /// The stacks from full to bare, each with one component less than the one before.
    pub fn ladder() -> &'static [StackName] {
        let end = Self::ALL.iter().position(|stack| *stack == Self::Bare).expect("it is one of all");
        &Self::ALL[..=end]
    }
}

impl fmt::Display for StackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for StackName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|stack| stack.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|stack| stack.name()).collect();
            format!("no stack is called `{name}`; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again_and_others_are_not() {
        for stack in StackName::ALL {
            assert_eq!(stack.name().parse(), Ok(*stack));
        }
        assert!("naked".parse::<StackName>().unwrap_err().contains("bare"));
        assert_eq!((StackName::ladder().len(), StackName::ladder()[11]), (12, StackName::Bare));
    }
}
