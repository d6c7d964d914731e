//! `info`, `dump` and `verify` on a small database of the classic engine, closed or not.

use std::path::{Path, PathBuf};

use glassbox::config::ClassicConfig;
use glassbox::record::Text;
use glassbox::{Catalog, Config, Database, Procedure, Stop, Transaction};
use serde::{Deserialize, Serialize};

use crate::common::{run, run_well, text};
use crate::things::{Note, Thing, name, note, snapshot, thing};

fn open(path: &Path) -> Database {
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(1 << 20).with_sessions(4);
    let config = Config::classic(classic).with_segment_bytes(64 << 10).with_log_buffer_bytes(64 << 10);
    Database::open(path, config, Catalog::new().table::<Thing>().table::<Note>().procedure::<Remove>()).unwrap()
}

/// A thing whose price follows from its number.
fn priced(side: i16, id: u32) -> Thing {
    thing(side, id, i64::from(id) * 50 - 100)
}

/// Two hundred things and a note before a checkpoint; then one thing changed, one deleted, one inserted.
fn fill(db: &Database) {
    db.transaction(|tx| {
        (0..200).try_for_each(|id| tx.insert(&priced(-(id as i16), id)))?;
        tx.insert(&note())
    })
    .unwrap();
    db.checkpoint().unwrap();
    db.transaction(|tx| tx.update::<Thing, _>(&(0, 0), |thing| thing.name = name(""))).unwrap();
    db.transaction(|tx| tx.delete::<Thing>(&(-1, 1))).unwrap();
    db.transaction(|tx| tx.insert(&priced(7, 1000))).unwrap();
}

fn copy(from: &Path, to: &Path) {
    for directory in ["", "log"] {
        std::fs::create_dir_all(to.join(directory)).unwrap();
        for entry in std::fs::read_dir(from.join(directory)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), to.join(directory).join(entry.file_name())).unwrap();
            }
        }
    }
}

/// A closed database, and its files as of a crash of the process.
fn made() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (closed, crashed) = (dir.path().join("closed"), dir.path().join("crashed"));
    let db = open(&closed);
    fill(&db);
    copy(&closed, &crashed);
    db.close().unwrap();
    (dir, closed, crashed)
}

#[test]
fn info_prints_the_contents() {
    let (_dir, closed, crashed) = made();
    for (path, how) in [(&closed, ", closed\n"), (&crashed, "not closed: opening it runs recovery\n")] {
        let out = run_well(&["info", text(path)]).out;
        assert!(out.contains("engine      classic, pages of 4 KiB\ncheckpoint  begins at position "), "{out}");
        assert!(out.contains(how) && out.contains(" used, ") && out.contains("stores      5 for 2 tables\n"), "{out}");
        assert!(out.contains("     1  heap  thing          200 records of 35 bytes on 3 pages\n"), "{out}");
        assert!(out.contains("     3  tree  thing/by_name  200 keys of 12 bytes on "), "{out}");
        assert!(out.contains("\nbatches     of reads, on this machine: "), "{out}");
        let table = "
table thing: 200 rows, 7.00 kB (35 bytes each)
  on pages: 12.3 kB of rows, ";
        assert!(out.contains(table) && out.contains("  unique index by_name (name, id)\n"), "{out}");
        assert!(out.contains("\ntable note: 1 rows, 17 B (17 bytes each)\n"), "{out}");
    }
    let out = run_well(&["info", text(&crashed)]).out;
    let redone = out.lines().find(|line| line.starts_with("recovery")).unwrap();
    assert!(!redone.contains(" 0 changes") && redone.contains(" 0 transactions to roll back"), "{out}");
}

/// Deletes a thing.
#[derive(Serialize, Deserialize)]
struct Remove {
    id: u32,
}

impl Procedure for Remove {
    const NAME: &'static str = "remove";
    type Output = bool;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        tx.delete::<Thing>(&(-(self.id as i16), self.id))
    }
}

#[test]
fn info_lists_prepared_transactions_and_counts_rows_without_them() {
    let dir = tempfile::tempdir().unwrap();
    let (closed, crashed) = (dir.path().join("closed"), dir.path().join("crashed"));
    let db = open(&closed);
    fill(&db);
    assert!(db.prepare("payment 17", &Remove { id: 5 }).unwrap());
    copy(&closed, &crashed);
    db.close().unwrap();
    for path in [&closed, &crashed] {
        let out = run_well(&["info", text(path)]).out;
        let prepared: Vec<_> = out.lines().filter(|line| line.starts_with("prepared")).collect();
        assert!(prepared.len() == 1 && prepared[0].starts_with("prepared    `payment 17`, transaction "), "{out}");
        assert!(prepared[0].ends_with(" locks; it waits for commit_prepared or roll_back_prepared"), "{out}");
        let verified = run_well(&["verify", text(path)]).out;
        assert!(verified.contains("prepared    1, wait for a decision; checked without their changes\n"), "{verified}");
        assert!(out.contains(" 0 transactions to roll back") && out.contains("\ntable thing: 200 rows"), "{out}");
        let rows = run_well(&["dump", text(path), "thing", "--format", "csv"]).out;
        assert!(rows.contains("\n5,-5,"), "it is not deleted yet: {rows}");
    }
    let db = open(&closed);
    db.commit_prepared("payment 17").unwrap();
    db.close().unwrap();
    let out = run_well(&["info", text(&closed)]).out;
    assert!(out.contains("\ntable thing: 199 rows") && !out.contains("payment 17"), "{out}");
}

/// Case 34: a name with a line break broke the list.
#[test]
fn info_shows_control_characters_of_names_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    fill(&db);
    assert!(db.prepare("a\n\u{1b}[31mred", &Remove { id: 5 }).unwrap());
    db.close().unwrap();
    let out = run_well(&["info", text(dir.path())]).out;
    assert!(out.contains("prepared    `a\\n\\u{1b}[31mred`, transaction ") && !out.contains('\u{1b}'), "{out}");
}

/// Cases 29 and 34: the error alone left an operator without any other facts.
#[test]
fn info_of_a_refused_manifest_shows_what_can_be_read_and_the_advice_works() {
    let dir = tempfile::tempdir().unwrap();
    let [manifest, new] = ["manifest", "manifest.new"].map(|name| dir.path().join(name));
    let db = open(dir.path());
    fill(&db);
    db.close().unwrap();
    let older = std::fs::read(&manifest).unwrap();
    let db = open(dir.path());
    db.checkpoint().unwrap();
    db.transaction(|tx| tx.insert(&priced(7, 1001))).unwrap();
    db.close().unwrap();
    std::fs::rename(&manifest, &new).unwrap();
    std::fs::write(&manifest, older).unwrap();
    let ran = run(&["info", text(dir.path())]);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.err.contains("an older copy") && ran.err.contains("manifest.new"), "{}", ran.err);
    for shown in
        ["\ndatabase    ", "\nmanifest      generation ", "\nmanifest.new  generation ", "\ntable thing: ", "  log/0"]
    {
        assert!(format!("\n{}", ran.out).contains(shown), "no {shown:?} in {}", ran.out);
    }
    std::fs::rename(&new, &manifest).unwrap();
    assert!(run_well(&["verify", text(dir.path())]).out.contains("All is well."));
}

#[test]
fn dump_prints_rows_in_key_order_closed_or_not() {
    let (_dir, closed, crashed) = made();
    for path in [&closed, &crashed] {
        let csv = run_well(&["dump", text(path), "thing", "--format", "csv"]).out;
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(
            (lines.len(), lines[0], lines[1]),
            (201, "id,side,name,price,seen,good,code", "199,-199,n199,98.50,,true,c7ab00")
        );
        assert_eq!(
            lines[198..],
            [
                "2,-2,n2,0.00,2024-02-29T12:34:56.000007Z,true,02ab00",
                "0,0,\"\",-1.00,,true,00ab00",
                "1000,7,n1000,499.00,,true,e8ab00"
            ]
        );
        let json = run_well(&["dump", text(path), "note"]).out;
        assert_eq!(json, "{\"id\":1,\"text\":\"a \\\"b\\\", c\"}\n");
    }
    let ran = run(&["dump", text(&closed), "things"]);
    assert!(ran.err.contains("there is no table `things`; did you mean `thing`?"), "{}", ran.err);
    let ran = run(&["dump", text(&closed), "thing", "--as-of-checkpoint"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("leave out --as-of-checkpoint"), "{}", ran.err);
}

#[test]
fn inspection_works_on_read_only_files() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, closed, crashed) = made();
    for path in [&closed, &crashed] {
        let before = snapshot(path);
        for (name, _) in &before {
            std::fs::set_permissions(name, std::fs::Permissions::from_mode(0o400)).unwrap();
        }
        let out = run_well(&["verify", text(path)]).out;
        assert!(out.contains(" are whole on disk\n") && out.ends_with("3 indexes checked\nAll is well.\n"), "{out}");
        run_well(&["info", text(path)]);
        run_well(&["dump", text(path), "thing"]);
        assert!(before == snapshot(path));
    }
    // An inspected database opens as before.
    for (name, _) in snapshot(&crashed) {
        std::fs::set_permissions(name, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let db = open(&crashed);
    assert_eq!(db.verify(), Vec::<String>::new());
    assert_eq!(
        db.transaction(|tx| Ok(tx.get::<Thing>(&(7, 1000))?.copied().map(|thing| thing.id))).unwrap(),
        Some(1000)
    );
}

/// An uncommitted transaction is visible neither to the tools nor to the engine.
#[test]
fn an_uncommitted_transaction_is_rolled_back_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let (path, crashed) = (dir.path().join("db"), dir.path().join("crashed"));
    let db = open(&path);
    fill(&db);
    let copied = db.transaction(|tx| {
        tx.insert(&priced(9, 9000))?;
        // Another transaction becomes durable meanwhile, and with it the log records of this one so far.
        std::thread::scope(|scope| {
            let other = || db.transaction(|tx| tx.insert(&Note { id: 9, text: Text::new("x").unwrap() })).unwrap();
            scope.spawn(other).join().unwrap();
        });
        copy(&path, &crashed);
        Ok(())
    });
    copied.unwrap();
    let out = run_well(&["verify", text(&crashed)]).out;
    assert!(out.contains(", 1 transactions rolled back, all in memory\n") && out.contains("All is well."), "{out}");
    let rows = run_well(&["dump", text(&crashed), "thing"]).out;
    assert!(rows.lines().count() == 200 && !rows.contains("9000"), "{rows}");
    assert_eq!(run_well(&["dump", text(&crashed), "note"]).out.lines().count(), 2);
}

#[test]
fn verify_names_file_and_offset_of_a_flipped_byte() {
    let (_dir, closed, crashed) = made();
    for path in [&closed, &crashed] {
        let pages = path.join("pages");
        let whole = std::fs::read(&pages).unwrap();
        let mut seen = 0;
        for (number, page) in whole.chunks(4096).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
            assert_eq!(page.len(), 4096);
            let mut damaged = whole.clone();
            damaged[number * 4096 + 2000] ^= 4;
            // No copy may repair it.
            let _ = std::fs::remove_file(path.join("pages.double"));
            std::fs::write(&pages, damaged).unwrap();
            let ran = run(&["verify", text(path)]);
            assert_eq!(ran.status, Some(1), "{}", ran.out);
            let words = format!(
                "{} is damaged at byte {}: the checksum of page {number} is wrong",
                text(&pages),
                number * 4096
            );
            assert!(ran.out.contains(&words) && !ran.out.contains("All is well"), "{}\n{}", ran.out, ran.err);
            seen += 1;
        }
        assert!(seen > 5, "{seen} pages");
        std::fs::write(&pages, whole).unwrap();
        run_well(&["verify", text(path)]);
    }
}

#[test]
fn verify_distinguishes_damage_of_the_log_from_its_end() {
    let (_dir, _, crashed) = made();
    let segment = std::fs::read_dir(crashed.join("log")).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.filter(|name| !text(name).contains("spare")).max().unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    let sectors = bytes.chunks(512).enumerate().skip(1);
    let blocks: Vec<_> = sectors.filter(|(_, bytes)| bytes.starts_with(b"GBLK")).map(|(at, _)| at).collect();
    let mut damaged = bytes;
    damaged[blocks[blocks.len() - 2] * 512 + 70] ^= 1;
    std::fs::write(&segment, damaged).unwrap();
    let ran = run(&["verify", text(&crashed)]);
    assert_eq!(ran.status, Some(1), "{}", ran.out);
    assert!(ran.out.contains("the log is damaged at offset"), "{}\n{}", ran.out, ran.err);
}
