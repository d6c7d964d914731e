//! Where `unsafe` may be written, and that each use states the fact that it rests on.

use crate::Problems;
use crate::source::{Source, all, words};

/// Directories and files that may contain `unsafe`, and what for.
const ALLOWED: [(&str, &str); 42] = [
    ("crates/glassbox/src/prefetch.rs", "asks the processor for memory, which accesses none"),
    ("crates/glassbox/src/huge_pages.rs", "has memory made present, which accesses none"),
    ("crates/glassbox/src/log/ring.rs", "bytes shared between appenders and the flusher"),
    ("crates/glassbox/src/log/flush.rs", "the flusher's side of the ring"),
    ("crates/glassbox/src/log/tests/interleavings.rs", "loom's cells, which check what others would claim"),
    ("crates/glassbox/src/log/writer.rs", "the flusher's side of the ring"),
    ("crates/glassbox/src/partitioned/storage/memory/", "rows and index nodes in mapped memory"),
    ("crates/glassbox/src/partitioned/token.rs", "a queue on the stacks of those who wait"),
    ("crates/glassbox/src/partitioned/partition.rs", "data that belongs to the holder of a token"),
    ("crates/glassbox/src/partitioned/prefetch.rs", "reaches the data of held partitions"),
    ("crates/glassbox/src/partitioned/calls.rs", "calls of unknown types that the holder of a token runs"),
    ("crates/glassbox/src/io/cores.rs", "asks the operating system for the core"),
    ("crates/glassbox/src/io/process.rs", "has the C library count forks"),
    ("crates/glassbox/tests/lifecycle/fork.rs", "forks"),
    ("crates/glassbox/src/io/uring.rs", "memory that the kernel writes to"),
    ("crates/glassbox/src/io/tests/refused.rs", "has the operating system refuse a call"),
    ("crates/glassbox/src/partitioned/handed.rs", "calls in memory that goes from thread to thread"),
    ("crates/glassbox/src/partitioned/held.rs", "the witness that partitions are held"),
    ("crates/glassbox/src/partitioned/inbox.rs", "entries that go from thread to thread"),
    ("crates/glassbox/src/partitioned/transaction/find.rs", "reaches the data of held partitions"),
    ("crates/glassbox/src/partitioned/lookups.rs", "reads places without asking for their bounds"),
    ("crates/glassbox/src/partitioned/transaction/batches.rs", "reaches the data of held partitions"),
    ("crates/glassbox/src/partitioned/transaction/change.rs", "changes a row while its copy is kept"),
    ("crates/glassbox/src/partitioned/log_records/record_buffer.rs", "asks for room once for each change"),
    ("crates/glassbox/src/io/clock.rs", "asks the operating system for the time"),
    ("crates/glassbox-workloads/src/up_to.rs", "places of a list that have no value yet"),
    ("crates/glassbox/src/partitioned/transaction/undo.rs", "old rows as bytes"),
    ("crates/glassbox/src/partitioned/recovery/replay.rs", "partitions belong to replay's threads"),
    ("crates/glassbox/src/classic/buffer/frames.rs", "frames of pages, shared by who has latched them"),
    ("crates/glassbox/src/classic/buffer/guard.rs", "the bytes of a page, as long as it is latched"),
    ("crates/glassbox/src/classic/buffer/memory.rs", "one aligned block of memory for all pages"),
    ("crates/glassbox/src/classic/buffer/resident.rs", "the bytes of a page, as long as it is latched"),
    ("crates/glassbox/src/classic/buffer/tests/interleavings.rs", "loom's cells, which check what others would claim"),
    ("crates/glassbox/src/classic/latch/interleavings.rs", "loom's cells, which check what others would claim"),
    ("crates/glassbox/src/classic/lock/brief.rs", "a value that one thread at a time can use"),
    ("crates/glassbox/src/classic/row_buffer.rs", "one row of any type in the same room"),
    ("crates/glassbox/src/classic/heap/rows.rs", "rows of a page that remembers that they are sound"),
    ("crates/glassbox/src/record/sound.rs", "stored rows that whoever made them vouches for"),
    ("crates/glassbox/src/record/text.rs", "checked once, when it was made"),
    ("lab/glassbox-kernels/src/", "a kernel without a database, to measure against"),
    ("lab/glassbox-lab/src/count/child.rs", "asks valgrind to begin counting, by its instructions"),
    ("crates/glassbox-workloads/tests/allocations/counting.rs", "an allocator that counts"),
];

/// Lines of one statement between its SAFETY comment and its `unsafe`.
const MAX_LINES_BETWEEN: usize = 3;

/// `unsafe` stands where it may, and each block and each implementation below or beside a SAFETY comment. A function
/// says what it needs under `# Safety` or, if private, by the comments of those who call it.
pub fn placed_and_argued(source: &Source, problems: &mut Problems) {
    let mut allowed = ALLOWED.iter().any(|(path, _)| source.path.starts_with(path));
    for (line, code) in source.code() {
        let mut found = words(code).skip_while(|word| *word != "unsafe");
        let Some(_) = found.next() else { continue };
        if !allowed {
            problems.add(
                source,
                line,
                "`unsafe` is not allowed in this file: use a safe module, or argue for it in `ALLOWED`",
            );
            allowed = true;
        }
        let needs_reason = code.contains("unsafe {") || code.contains("unsafe impl") || code.ends_with("unsafe");
        if needs_reason && !argued(source, line - 1) {
            problems.add(source, line, "write `// SAFETY:` above this, with the fact that makes it sound");
        }
    }
}

fn argued(source: &Source, at: usize) -> bool {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let mut between = 0;
    for line in source.text[..=at].iter().rev() {
        if line.contains("SAFETY:") {
            return true;
        }
        if !is_comment(line) {
            between += 1;
            if between > MAX_LINES_BETWEEN + 1 {
                return false;
            }
        }
    }
    false
}

/// A place that no longer needs `unsafe` must not be allowed it.
pub fn exceptions(problems: &mut Problems) {
    let sources = all();
    for (path, _) in ALLOWED {
        let uses = |source: &Source| source.code().any(|(_, code)| words(code).any(|word| word == "unsafe"));
        if !sources.iter().any(|source| source.path.starts_with(path) && uses(source)) {
            problems.0.push(format!("{}:1: {path} contains no `unsafe`: remove it from `ALLOWED`", file!()));
        }
    }
}
