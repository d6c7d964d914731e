//! A cluster one of whose disks hangs: its replica answers, and can promise nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{does, interrupted, once, program, run, text};

/// A file system in a file. It is gone when this is dropped.
struct Disk {
    at: PathBuf,
}

impl Disk {
    /// `None`: this system, or this user, cannot make one.
    fn new(image: &Path, at: PathBuf) -> Option<Self> {
        let (image, path) = (text(image), text(&at));
        let is_made = does("which fsfreeze mkfs.ext4")
            && does(&format!("truncate -s 1G {image} && mkfs.ext4 -q {image} && mkdir -p {path}"))
            && does(&format!("mount -o loop {image} {path} && rmdir {path}/lost+found"));
        is_made.then_some(Self { at })
    }

    /// Writes wait until it goes on.
    fn hang(&self) {
        assert!(does(&format!("fsfreeze -f {}", text(&self.at))));
    }

    fn go_on(&self) -> bool {
        does(&format!("fsfreeze -u {}", text(&self.at)))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.go_on();
        // Also if a process that has failed uses it.
        does(&format!("umount -l {}", text(&self.at)));
    }
}

#[test]
fn a_replica_whose_disk_hangs_is_replaced_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("rows");
    let disks = [0, 1].map(|replica| {
        let image = dir.path().join(format!("disk-{replica}"));
        Disk::new(&image, at.join(format!("partition-{replica}-replica-{replica}")))
    });
    let [Some(primary), Some(backup)] = &disks else {
        println!("skipped: this user cannot mount file systems");
        return;
    };
    let cluster = ["--log", "raft", "--dir", text(&at)];
    let tpcc = ["tpcc", "--small", "--seconds", "300", "--clients", "2"];
    let child = program(&[&cluster[..], &tpcc].concat()).spawn().unwrap();
    let file = at.join("cluster.json");
    let status = |words: &[(&str, usize)]| once(words, || run(&["status", "--config", text(&file)]));
    let (whole, without_one) = ([(" primary ", 2), (" backup ", 2)], [(" primary ", 2), (" backup ", 1)]);
    status(&whole);
    std::thread::sleep(Duration::from_secs(1));
    primary.hang();
    status(&without_one);
    assert!(primary.go_on());
    status(&whole);
    backup.hang();
    status(&without_one);
    assert!(backup.go_on());
    status(&whole);
    let ran = interrupted(child);
    for words in ["none is lost", "all 13 conditions hold"] {
        assert!(ran.status == Some(0) && ran.out.contains(words), "{words}: {}{}", ran.out, ran.err);
    }
    for words in ["is the primary now", "is left out", "is back: it joins"] {
        assert!(ran.err.contains(words), "no `{words}` in {}", ran.err);
    }
}
