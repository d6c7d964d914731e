//! Tests of the files in memory, and that the real ones agree with them.

#[cfg(all(target_os = "linux", feature = "io-uring"))]
pub(crate) mod refused;

use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;

use super::*;

fn contents(files: &dyn Files, name: &str) -> Option<Vec<u8>> {
    let file = files.exists(name).unwrap().then(|| files.open(name).unwrap())?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

/// Every directory of files must behave so.
fn behaves(files: &dyn Files) {
    files.create_directory("d").unwrap();
    files.create_directory("d").unwrap();
    let file = files.create("d/a").unwrap();
    assert_eq!(files.create("d/a").err().unwrap().kind(), ErrorKind::AlreadyExists);
    assert_eq!(files.open("d/none").err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(files.remove("d/none").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(file.is_empty().unwrap());
    file.write_parts_at(&mut [IoSlice::new(b""), IoSlice::new(b"ab"), IoSlice::new(b"cde")], 3).unwrap();
    assert_eq!(contents(files, "d/a").unwrap(), b"\0\0\0abcde");
    let mut buffer = [0; 4];
    assert_eq!(file.read_at(&mut buffer, 6).unwrap(), 2);
    assert_eq!(file.read_at(&mut buffer, 1 << 40).unwrap(), 0);
    assert_eq!(file.read_exact_at(&mut buffer, 6).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    file.set_len(4).unwrap();
    file.preallocate(6).unwrap();
    file.preallocate(2).unwrap();
    file.sync_data().unwrap();
    assert_eq!(contents(files, "d/a").unwrap(), b"\0\0\0a\0\0");
    files.create("d/b").unwrap();
    files.create("top").unwrap();
    files.rename("d/a", "d/b").unwrap();
    files.sync_directory("d").unwrap();
    file.write_at(b"!", 0).unwrap();
    assert_eq!(contents(files, "d/b").unwrap()[0], b'!', "a handle follows its file, not the name");
    assert_eq!(files.list("d").unwrap(), ["d/b"]);
    assert_eq!(files.list("").unwrap(), ["top"]);
    assert!(files.list("nowhere").unwrap().is_empty());
    files.remove("d/b").unwrap();
    assert!(!files.exists("d/b").unwrap());
    files.create("d/direct").unwrap();
    direct(&*files.open_direct("d/direct").unwrap());
    many(&*files.open_direct("d/direct").unwrap());
    let lock = files.lock().unwrap();
    let refused = files.lock().err().unwrap();
    assert!(refused.to_string().contains("process"), "{refused}");
    drop(lock);
    drop(files.lock().unwrap());
}

/// Many reads of a file, more than any way of reading does at the same time, past its end too.
fn many(file: &dyn File) {
    const READS: usize = 200;
    let mut memory = vec![0; (READS + 1) * 4096];
    let start = memory.as_ptr().align_offset(4096);
    file.preallocate(3 * 4096).unwrap();
    let buffers = memory[start..].chunks_exact_mut(4096).take(READS);
    let mut reads: Vec<_> = buffers.zip(0..).map(|(buffer, at)| ReadRequest::new(at % 5 * 4096, buffer)).collect();
    file.read_many(&mut reads);
    for ReadRequest { offset, buffer, result } in reads {
        assert_eq!(result.unwrap(), if offset < 3 * 4096 { 4096 } else { 0 });
        let expected = if offset == 4096 { 7 } else { 0 };
        assert!(buffer.iter().all(|byte| *byte == expected), "at {offset}");
    }
}

/// A file opened past the cache, with memory that is aligned for it.
fn direct(file: &dyn File) {
    let memory = vec![7; 3 * 4096];
    let aligned = &memory[memory.as_ptr().align_offset(4096)..][..4096];
    file.preallocate(3 * 4096).unwrap();
    file.write_at(aligned, 4096).unwrap();
    file.sync_data().unwrap();
    let mut memory = vec![1; 4 * 4096];
    let skip = memory.as_ptr().align_offset(4096);
    let back = &mut memory[skip..skip + 3 * 4096];
    assert_eq!(file.read_at(back, 4096).unwrap(), 2 * 4096);
    assert!(back[..4096].iter().all(|byte| *byte == 7) && back[4096..8192].iter().all(|byte| *byte == 0));
}

#[test]
fn files_in_memory_behave() {
    behaves(&MemoryFiles::new());
}

#[test]
fn real_files_behave() {
    let root = std::env::temp_dir().join(format!("glassbox-io-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    assert_eq!(RealFiles::existing(&root).unwrap_err().kind(), ErrorKind::NotFound);
    behaves(&RealFiles::new(&root).unwrap());
    let error = RealFiles::existing(&root).unwrap().open("d/gone").err().unwrap();
    assert!(error.to_string().starts_with(&format!("cannot open {}/d/gone: No such file", root.display())), "{error}");
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_reader_changes_nothing_and_keeps_writers_out() {
    let root = std::env::temp_dir().join(format!("glassbox-io-read-only-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    let (writer, lock) = (RealFiles::new(&root).unwrap(), root.join("LOCK"));
    let reader = RealFiles::read_only(&root).unwrap();
    drop(reader.lock().unwrap());
    assert!(!lock.exists(), "reading makes no file");
    writer.create("f").unwrap().write_at(b"abc", 0).unwrap();
    let held = writer.lock().unwrap();
    let error = reader.lock().err().unwrap().to_string();
    assert!(error.contains(&format!("the database is open in process {}", std::process::id())), "{error}");
    drop(held);
    std::fs::write(&lock, "1").unwrap();
    let readers = [reader.lock().unwrap(), RealFiles::read_only(&root).unwrap().lock().unwrap()];
    let error = writer.lock().err().unwrap().to_string();
    assert!(error.contains("another process is looking into the database"), "{error}");
    let file = reader.open("f").unwrap();
    assert_eq!(contents(&reader, "f").unwrap(), b"abc");
    assert!(file.write_at(b"d", 0).is_err());
    drop(readers);
    assert_eq!(std::fs::read(&lock).unwrap(), b"1");
    drop(writer.lock().unwrap());
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn what_was_not_forced_is_lost_kept_or_torn() {
    let files = MemoryFiles::new();
    let file = files.create("f").unwrap();
    file.write_at(&[1; 2048], 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(contents(&files.after_crash(Crash::Lost, 0), "f"), None, "its name was not forced");
    files.sync_directory("").unwrap();
    file.write_at(&[2; 1000], 300).unwrap();
    let lost = contents(&files.after_crash(Crash::Lost, 0), "f").unwrap();
    let kept = contents(&files.after_crash(Crash::Kept, 0), "f").unwrap();
    assert_eq!(lost, [1; 2048]);
    assert_eq!(kept, contents(&files, "f").unwrap());
    let (mut losts, mut kepts, mut torns) = (0, 0, 0);
    for seed in 0..200 {
        let torn = contents(&files.after_crash(Crash::Torn, seed), "f").unwrap();
        assert_eq!(torn, contents(&files.after_crash(Crash::Torn, seed), "f").unwrap(), "the seed decides");
        for sector in 0..4 {
            let range = sector * 512..(sector + 1) * 512;
            assert!(
                torn[range.clone()] == lost[range.clone()] || torn[range.clone()] == kept[range],
                "sectors are whole"
            );
        }
        match &torn {
            bytes if *bytes == lost => losts += 1,
            bytes if *bytes == kept => kepts += 1,
            _ => torns += 1,
        }
    }
    assert!(losts > 20 && kepts > 20 && torns > 20, "{losts} {kepts} {torns}");
}

#[test]
fn any_directory_operations_are_kept_but_those_of_one_name_in_order() {
    let files = MemoryFiles::new();
    files.create("a").unwrap().sync_data().unwrap();
    files.sync_directory("").unwrap();
    files.rename("a", "b").unwrap();
    files.create("c").unwrap();
    files.remove("b").unwrap();
    let states = [vec!["a"], vec!["b"], vec!["b", "c"], vec!["a", "c"], vec![], vec!["c"]];
    let mut seen = [false; 6];
    for seed in 0..100 {
        let names = files.after_crash(Crash::Torn, seed).list("").unwrap();
        seen[states.iter().position(|state| *state == names).expect("the removal follows the rename")] = true;
    }
    assert_eq!(seen, [true; 6]);
    assert_eq!(files.after_crash(Crash::Lost, 0).list("").unwrap(), states[0]);
    assert_eq!(files.after_crash(Crash::Kept, 0).list("").unwrap(), states[5]);
    files.sync_directory("").unwrap();
    assert_eq!(files.after_crash(Crash::Lost, 0).list("").unwrap(), states[5]);
}

#[test]
fn the_world_stops_where_it_is_told() {
    let files = MemoryFiles::new();
    let file = files.create("f").unwrap();
    file.sync_data().unwrap();
    files.sync_directory("").unwrap();
    files.set_faults(Faults { stop_at: Some(files.operations() + 1), ..Faults::default() });
    file.write_at(b"one", 0).unwrap();
    let error = file.write_at(b"two", 3).unwrap_err();
    assert_eq!(error.to_string(), "cannot write f: stopped");
    assert!(files.is_stopped() && file.len().is_err() && files.list("").is_err() && files.lock().is_err());
    assert_eq!(contents(&files.after_crash(Crash::Kept, 0), "f").unwrap(), b"onetwo", "the last write is in doubt");
    assert_eq!(contents(&files.after_crash(Crash::Lost, 0), "f").unwrap(), b"");
    let killed = files.after_kill();
    assert_eq!(contents(&killed, "f").unwrap(), b"onetwo");
    assert_eq!(contents(&killed.after_crash(Crash::Lost, 0), "f").unwrap(), b"", "a kill forces nothing");
}

#[test]
fn injected_faults_fail_what_they_name() {
    let files = MemoryFiles::new();
    let file = files.create("f").unwrap();
    files.set_faults(Faults { fail_force: Some(1), ..Faults::default() });
    file.write_at(b"x", 0).unwrap();
    file.sync_data().unwrap();
    file.write_at(b"y", 0).unwrap();
    assert!(file.sync_data().is_err());
    files.sync_directory("").unwrap();
    assert_eq!(contents(&files.after_crash(Crash::Lost, 0), "f").unwrap(), b"x");
    files.set_faults(Faults { capacity_bytes: Some(4), ..Faults::default() });
    file.write_at(b"1234", 0).unwrap();
    assert_eq!(file.write_at(b"5", 4).unwrap_err().kind(), ErrorKind::StorageFull);
    file.write_at(b"4", 3).unwrap();
    files.set_faults(Faults { read_only: true, ..Faults::default() });
    assert_eq!(file.write_at(b"1", 0).unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    assert_eq!(files.create("g").err().unwrap().kind(), ErrorKind::ReadOnlyFilesystem);
    assert_eq!(contents(&files, "f").unwrap(), b"1234");
}

#[test]
fn clocks_go_on() {
    let clock = RealClock::new();
    let (wall, before) = (clock.wall_us(), clock.monotonic_ns());
    assert!(wall > 1_700_000_000_000_000 && clock.monotonic_ns() >= before);
    let manual = ManualClock::default();
    manual.clone().advance_ns(5_000);
    assert_eq!((manual.wall_us(), manual.monotonic_ns()), (5, 5_000));
}

#[test]
fn an_overlay_behaves_and_changes_nothing_below() {
    let below = MemoryFiles::new();
    behaves(&Overlay::new(Arc::new(below.clone())));
    assert!(below.list("").unwrap().is_empty() && below.list("d").unwrap().is_empty());
    let bytes: Vec<u8> = (0..20_000_u32).map(|at| at as u8).collect();
    below.create("f").unwrap().write_at(&bytes, 0).unwrap();
    below.create("gone").unwrap();
    let over = Overlay::new(Arc::new(below.clone()));
    let (file, same) = (over.open("f").unwrap(), over.open("f").unwrap());
    file.write_at(b"new", 8190).unwrap();
    assert_eq!(contents(&over, "f").unwrap()[8189..8194], [253, b'n', b'e', b'w', 1]);
    over.remove("gone").unwrap();
    over.rename("f", "g").unwrap();
    assert_eq!(over.open("f").err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(over.list("").unwrap(), ["g"]);
    same.set_len(8191).unwrap();
    same.set_len(9000).unwrap();
    let cut = contents(&over, "g").unwrap();
    assert!(cut[..8190] == bytes[..8190] && cut[8190] == b'n' && cut[8191..].iter().all(|byte| *byte == 0));
    assert_eq!(below.list("").unwrap(), ["f", "gone"]);
    assert_eq!(contents(&below, "f").unwrap(), bytes);
}

/// Any sequence of writes, cuts and extensions gives the bytes that it gives without a base.
#[test]
fn an_overlay_is_as_files_are() {
    for seed in 0..50 {
        let mut dice = Dice(seed);
        let (plain, below) = (MemoryFiles::new(), MemoryFiles::new());
        let first: Vec<u8> = (0..dice.below(30_000)).map(|_| dice.below(255) as u8).collect();
        for files in [&plain, &below] {
            files.create("f").unwrap().write_at(&first, 0).unwrap();
        }
        let over = Overlay::new(Arc::new(below.clone()));
        for _ in 0..30 {
            let (what, at) = (dice.below(6), dice.below(40_000));
            let data: Vec<u8> = (0..dice.below(9_000)).map(|_| dice.below(255) as u8).collect();
            for files in [&plain as &dyn Files, &over] {
                let file = files.open("f").unwrap();
                match what {
                    0 => file.set_len(at).unwrap(),
                    1 => file.preallocate(at).unwrap(),
                    _ => file.write_at(&data, at).unwrap(),
                }
            }
            assert!(contents(&plain, "f") == contents(&over, "f"), "seed {seed}");
        }
        assert!(contents(&below, "f").unwrap() == first, "seed {seed}");
    }
}
