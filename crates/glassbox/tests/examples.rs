//! The examples keep their promises: the bank runs in an empty directory, and again on what it left there.

#[path = "../examples/bank.rs"]
mod bank;

#[test]
fn the_bank_keeps_its_money_and_can_be_run_again() {
    let directory = tempfile::tempdir().unwrap();
    // The example opens a path beside itself; nothing else in this program depends on the directory.
    std::env::set_current_dir(directory.path()).unwrap();
    // Killed between opening and filling: the table is there, its rows are not.
    bank::open().unwrap().close().unwrap();
    bank::main().unwrap();
    bank::main().unwrap();
    assert!(directory.path().join("bank.db/manifest").exists());
}

#[test]
fn the_bank_is_short() {
    assert!(include_str!("../examples/bank.rs").lines().count() <= 75);
}
