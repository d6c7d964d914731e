//! `info`, `dump` and `verify` on a small database of every type of column.

use std::path::Path;

use glassbox::record::Text;
use glassbox::{Catalog, Config, Database, Declared, KeySet, LogKind, Procedure, Stop, Transaction};
use serde::{Deserialize, Serialize};

use crate::common::{run, run_well, text};
use crate::things::{Note, Thing, name, note, snapshot, thing};

#[derive(Serialize, Deserialize)]
struct Rename {
    id: u32,
    to: Text<8>,
}

impl Procedure for Rename {
    const NAME: &'static str = "rename";
    type Output = bool;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Thing>(&(-1, self.id));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        Ok(tx.update::<Thing, _>(&(-1, self.id), |thing| thing.name = self.to)?.is_some())
    }
}

fn open(path: &Path, log: LogKind) -> Database {
    let config =
        Config::default().with_partitions(2).with_segment_bytes(64 << 10).with_log_buffer_bytes(64 << 10).with_log(log);
    Database::open(path, config, Catalog::new().table::<Thing>().table::<Note>().procedure::<Rename>()).unwrap()
}

/// Three things and a note in the checkpoint; in the log, one thing changed, one deleted, one inserted.
fn make(path: &Path) {
    let db = open(path, LogKind::Values);
    db.transaction(|tx| {
        tx.insert(&thing(1, 1, 12_345))?;
        tx.insert(&thing(-1, 2, -5))?;
        tx.insert(&thing(0, 3, 0))?;
        tx.insert(&note())
    })
    .unwrap();
    db.checkpoint().unwrap();
    assert!(db.call(&Rename { id: 2, to: name("") }).unwrap());
    db.transaction(|tx| tx.delete::<Thing>(&(0, 3))).unwrap();
    db.transaction(|tx| tx.insert(&thing(-7, 4, 1))).unwrap();
    db.close().unwrap();
}

fn made() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    make(&path);
    (dir, path)
}

#[test]
fn info_prints_the_contents() {
    let (_dir, path) = made();
    let out = run_well(&["info", text(&path)]).out;
    let (database, rest) = out.split_once('\n').unwrap();
    assert!(database.starts_with("database    ") && database.len() == 12 + 32);
    let (storage, tables) = rest.split_once("\n\n").unwrap();
    assert!(storage.contains(": 4 rows, ") && storage.contains(", 3 row changes, closed\n"), "{storage}");
    assert_eq!(
        tables,
        "\
table thing: 3 rows, 105 B (35 bytes each)
  key (side, id), partitioned by id, lookups and scans
  unique index by_name (name, id)
    id     u32
    side   i16
    name   text(8)
    price  decimal(2)
    seen   timestamp or null
    good   bool
    code   bytes(3)

table note: 1 rows, 17 B (17 bytes each)
  key (id), replicated, lookups only
    id    u8
    text  text(16)
"
    );
}

#[test]
fn dump_prints_rows_in_key_order() {
    let (_dir, path) = made();
    let json = "\
{\"id\":4,\"side\":-7,\"name\":\"n4\",\"price\":\"0.01\",\"seen\":null,\"good\":true,\"code\":\"04ab00\"}
{\"id\":2,\"side\":-1,\"name\":\"\",\"price\":\"-0.05\",\"seen\":\"2024-02-29T12:34:56.000007Z\",\"good\":true,\
\"code\":\"02ab00\"}
{\"id\":1,\"side\":1,\"name\":\"n1\",\"price\":\"123.45\",\"seen\":null,\"good\":true,\"code\":\"01ab00\"}
";
    assert_eq!(run_well(&["dump", text(&path), "thing"]).out, json);
    assert!(json.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let csv = "\
id,side,name,price,seen,good,code
4,-7,n4,0.01,,true,04ab00
2,-1,\"\",-0.05,2024-02-29T12:34:56.000007Z,true,02ab00
1,1,n1,123.45,,true,01ab00
";
    assert_eq!(run_well(&["dump", text(&path), "thing", "--format", "csv"]).out, csv);
    assert_eq!(run_well(&["dump", text(&path), "note", "--format", "csv"]).out, "id,text\n1,\"a \"\"b\"\", c\"\n");
    let before = run_well(&["dump", text(&path), "thing", "--as-of-checkpoint", "--format", "csv"]).out;
    assert_eq!(before.lines().count(), 4);
    assert!(before.contains("2,-1,n2,-0.05") && before.contains("3,0,n3,0.00,,false,03ab00"), "{before}");
    let ran = run(&["dump", text(&path), "things"]);
    assert_eq!(ran.status, Some(1));
    let words = "there is no table `things`; did you mean `thing`? there are thing, note";
    assert!(ran.err.contains(words), "{}", ran.err);
    let ran = run(&["dump", text(&path), "customer"]);
    assert!(ran.err.contains("there is no table `customer`; there are thing, note"), "{}", ran.err);
}

#[test]
fn inspection_changes_no_file_and_verify_finds_no_problem() {
    let (_dir, path) = made();
    let before = snapshot(&path);
    let out = run_well(&["verify", text(&path)]).out;
    assert_eq!(
        out,
        "\
checkpoint  3 blocks are whole
log         3 row changes were replayed
rows        4, their columns, keys and 3 indexes checked
All is well.
"
    );
    run_well(&["info", text(&path)]);
    assert!(before == snapshot(&path));
}

/// Flips a byte of the first file of a directory. Returns the output of verify.
fn verify_after_flip(path: &Path, directory: &str, offset: u64) -> String {
    let mut names: Vec<_> =
        std::fs::read_dir(path.join(directory)).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let file = names.iter().find(|name| !text(name).contains("spare")).unwrap();
    let mut bytes = std::fs::read(file).unwrap();
    bytes[offset as usize] ^= 1;
    std::fs::write(file, &bytes).unwrap();
    let ran = run(&["verify", text(path)]);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(ran.out.contains(name) && !ran.out.contains("All is well"), "{}", ran.out);
    bytes[offset as usize] ^= 1;
    std::fs::write(file, &bytes).unwrap();
    run_well(&["verify", text(path)]);
    ran.out
}

#[test]
fn verify_names_file_and_offset_of_a_flipped_byte() {
    let (_dir, path) = made();
    let out = verify_after_flip(&path, "checkpoint", 80);
    assert!(out.contains("is damaged at byte 48: the checksum of this block does not match"), "{out}");
    assert!(verify_after_flip(&path, "checkpoint", 20).contains("byte 12"));
    // The segment's header, and the payload of a block in the middle of the log: later blocks prove that it is no torn
    // end.
    assert!(verify_after_flip(&path, "log", 20).contains("segment header at offset 0"));
    let ran = std::fs::read(path.join("manifest")).unwrap();
    let mut damaged = ran.clone();
    damaged[100] ^= 1;
    std::fs::write(path.join("manifest"), damaged).unwrap();
    let verified = run(&["verify", text(&path)]);
    assert_eq!(verified.status, Some(1));
    assert!(verified.err.contains("manifest is damaged at byte 24: its checksum does not match"), "{}", verified.err);
}

#[test]
fn verify_distinguishes_damage_of_the_log_from_its_end() {
    let (_dir, path) = made();
    let segment = std::fs::read_dir(path.join("log")).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.filter(|name| !text(name).contains("spare")).max().unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    let sectors = bytes.chunks(512).enumerate().skip(1);
    let blocks: Vec<_> = sectors.filter(|(_, bytes)| bytes.iter().any(|&byte| byte != 0)).map(|(at, _)| at).collect();
    let mut damaged = bytes;
    damaged[blocks[blocks.len() / 2] * 512 + 70] ^= 1;
    std::fs::write(&segment, damaged).unwrap();
    let ran = run(&["verify", text(&path)]);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.out.contains("the log is damaged at offset"), "{}", ran.out);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let copied = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &copied);
        } else {
            std::fs::copy(entry.path(), copied).unwrap();
        }
    }
}

#[test]
fn calls_in_the_log_are_counted_and_not_replayed() {
    let (dir, path) = made();
    let db = open(&path, LogKind::Commands);
    assert!(db.call(&Rename { id: 2, to: name("new") }).unwrap());
    // As a killed process leaves it: closing would write a checkpoint.
    let killed = dir.path().join("killed");
    copy(&path, &killed);
    db.close().unwrap();
    let closed = run_well(&["info", text(&path)]).out;
    assert!(!closed.contains("calls of rename"), "{closed}");
    let path = killed;
    let info = run_well(&["info", text(&path)]).out;
    assert!(info.contains("1 calls of rename (version 1)") && info.contains("as of the checkpoint"), "{info}");
    let verify = run_well(&["verify", text(&path)]).out;
    assert!(verify.contains("1 calls of procedures are whole, but were not replayed"), "{verify}");
    // Case 44: a replay that is refused was not mentioned.
    assert!(verify.contains("An opening will replay the calls, and is refused if"), "{verify}");
    assert!(!verify.contains("All is well"), "{verify}");
    let ran = run(&["dump", text(&path), "thing"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("call of procedure `rename`") && ran.err.contains("make a checkpoint"), "{}", ran.err);
    run_well(&["dump", text(&path), "thing", "--as-of-checkpoint"]);
}
