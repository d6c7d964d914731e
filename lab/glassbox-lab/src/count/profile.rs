//! Callgrind's output format (*Callgrind Format Specification*, valgrind's manual), with the options used here: costs
//! by instruction, no lines, no compression.

use std::collections::HashMap;

use anyhow::{Context, bail};

/// A function, by its place in [`Profile::functions`].
pub(super) type FunctionId = usize;

/// A function of a file of code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Function {
    /// The executable or library it is in.
    pub object: String,
    /// Its name, or callgrind's substitute.
    pub name: String,
}

/// Instructions executed at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    pub function: FunctionId,
    /// In the function's object, as its symbols count.
    pub address: u64,
    pub instructions: u64,
}

/// CallEdge from an address to a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallEdge {
    pub caller: FunctionId,
    /// Of the call.
    pub address: u64,
    pub callee: FunctionId,
    /// Instructions of the callee, with those that it called.
    pub instructions: u64,
}

/// The costs of some threads.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Profile {
    pub functions: Vec<Function>,
    pub costs: Vec<Cost>,
    pub calls: Vec<CallEdge>,
}

/// The state of the parser.
#[derive(Default)]
struct ProfileReader {
    profile: Profile,
    known: HashMap<Function, FunctionId>,
    object: String,
    called_object: Option<String>,
    function: Option<FunctionId>,
    called: Option<FunctionId>,
    /// Whether the next line of costs is that of a call.
    after_calls: bool,
}

impl Profile {
    /// Parses callgrind's output for each thread, and adds it up.
    ///
    /// # Errors
    /// When a line cannot be parsed, which the error names; when the costs do not sum to a file's total.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Self> {
        let mut reader = ProfileReader::default();
        for text in texts {
            let (before, mut stated) = (reader.profile.total(), None);
            (reader.object, reader.function) = (String::new(), None);
            for (at, line) in text.lines().enumerate() {
                if let Some(sum) = line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")) {
                    stated = Some(sum.trim().parse::<u64>()?);
                } else {
                    reader.line(line).with_context(|| format!("line {} of the profile: {line}", at + 1))?;
                }
            }
            let (sum, stated) = (reader.profile.total() - before, stated.unwrap_or_default());
            if sum != stated {
                bail!("the profile's costs sum to {sum}, not to its total of {stated}");
            }
        }
        Ok(reader.profile)
    }

    /// All instructions.
    pub fn total(&self) -> u64 {
        self.costs.iter().map(|cost| cost.instructions).sum()
    }
}

impl ProfileReader {
    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        if line.starts_with("0x") {
            return self.cost(line);
        }
        if let Some((key, value)) = line.split_once('=') {
            match key {
                "ob" => self.object = value.to_owned(),
                "fn" => self.function = Some(self.id(self.object.clone(), value)),
                "cob" => self.called_object = Some(value.to_owned()),
                "cfn" => {
                    let object = self.called_object.take().unwrap_or_else(|| self.object.clone());
                    self.called = Some(self.id(object, value));
                }
                "calls" => self.after_calls = true,
                // Files: the debugging information is more precise.
                "fl" | "fi" | "fe" | "cfi" | "cfl" => {}
                // The head's `cmd: program --option=value`.
                _ if key.contains(':') => {}
                _ => bail!("unknown key `{key}`"),
            }
            return Ok(());
        }
        match line.split_once(':') {
            Some(("positions", what)) if what.trim() != "instr" => bail!("positions are not those of instructions"),
            Some(("events", what)) if what.trim() != "Ir" => bail!("instructions are not the only event"),
            Some(_) => Ok(()),
            None if line.is_empty() || line.starts_with('#') => Ok(()),
            None => bail!("unknown line"),
        }
    }

    /// `0x1234 56`: an address and its instructions.
    fn cost(&mut self, line: &str) -> anyhow::Result<()> {
        let (address, instructions) = line.split_once(' ').unwrap_or((line, "0"));
        let address = u64::from_str_radix(&address[2..], 16)?;
        let instructions = instructions.trim().parse()?;
        let function = self.function.context("costs without a function")?;
        if std::mem::take(&mut self.after_calls) {
            let callee = self.called.take().context("calls without a function")?;
            self.profile.calls.push(CallEdge { caller: function, address, callee, instructions });
        } else {
            self.profile.costs.push(Cost { function, address, instructions });
        }
        Ok(())
    }

    fn id(&mut self, object: String, name: &str) -> FunctionId {
        let function = Function { object, name: name.to_owned() };
        let functions = &mut self.profile.functions;
        *self.known.entry(function).or_insert_with_key(|function| {
            functions.push(function.clone());
            functions.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of callgrind 3.19.
    pub(in super::super) const SAMPLE: &str = "\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 7
cmd:  glassbox --seed=1
part: 1
thread: 1

desc: Trigger: Program termination

positions: instr
events: Ir
summary: 141

ob=/bin/glassbox
fl=engine.rs
fn=run
0x1000 10
fi=tree.rs
0x1004 20
fe=engine.rs
cob=/lib/libc.so.6
cfi=???
cfn=memcpy
calls=2 0x9000
0x1008 100
0x1008 1
cfn=helper
calls=1 0x2000
0x100c 10

fn=helper
0x2000 10

ob=/lib/libc.so.6
fl=???
fn=memcpy
0x9000 100
totals: 141
";

    #[test]
    fn costs_and_calls_are_parsed() {
        let profile = Profile::parse([SAMPLE]).unwrap();
        let names: Vec<_> =
            profile.functions.iter().map(|function| (function.object.as_str(), function.name.as_str())).collect();
        let (program, library) = ("/bin/glassbox", "/lib/libc.so.6");
        assert_eq!(names, [(program, "run"), (library, "memcpy"), (program, "helper")]);
        let costs: Vec<_> = profile.costs.iter().map(|cost| (cost.function, cost.address, cost.instructions)).collect();
        assert_eq!(costs, [(0, 0x1000, 10), (0, 0x1004, 20), (0, 0x1008, 1), (2, 0x2000, 10), (1, 0x9000, 100)]);
        let calls = [
            CallEdge { caller: 0, address: 0x1008, callee: 1, instructions: 100 },
            CallEdge { caller: 0, address: 0x100c, callee: 2, instructions: 10 },
        ];
        assert_eq!(profile.calls, calls);
    }

    #[test]
    fn an_unknown_line_is_an_error() {
        let error = |text: &str| format!("{:#}", Profile::parse([text]).unwrap_err());
        assert!(error("positions: line\n").contains("line 1 of the profile: positions: line"));
        assert!(error("events: Ir Dr\n").contains("instructions are not the only event"));
        assert!(error("0x10 5\n").contains("costs without a function"));
        assert!(error("fn=a\n0x10 x\n").contains("0x10 x"));
        assert!(error("fn=a\njump=1 0x10\n").contains("`jump`"));
        assert!(error("fn=a\n0x10 5\ntotals: 6\n").contains("sum to 5, not to its total of 6"));
    }
}
