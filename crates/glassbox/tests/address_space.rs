//! Forty tables in 64 partitions, where there is no address space for them: the error names a remedy, which works.

use std::process::Command;

use glassbox::{Catalog, Config, Database, Error, Record as _};

/// Tables that differ by their names.
macro_rules! tables {
    ($($module:ident $name:literal),* $(,)?) => {
        $(mod $module {
            #[derive(glassbox::Record, Clone, Copy)]
            #[record(table = $name, key = id)]
            pub struct Row {
                id: u32,
            }
        })*

        fn catalog() -> Catalog {
            Catalog::new()$(.table::<$module::Row>())*
        }

        const TABLES: usize = [$($module::Row::TABLE),*].len();
    };
}

tables! {
    t00 "t00", t01 "t01", t02 "t02", t03 "t03", t04 "t04", t05 "t05", t06 "t06", t07 "t07", t08 "t08", t09 "t09",
    t10 "t10", t11 "t11", t12 "t12", t13 "t13", t14 "t14", t15 "t15", t16 "t16", t17 "t17", t18 "t18", t19 "t19",
    t20 "t20", t21 "t21", t22 "t22", t23 "t23", t24 "t24", t25 "t25", t26 "t26", t27 "t27", t28 "t28", t29 "t29",
    t30 "t30", t31 "t31", t32 "t32", t33 "t33", t34 "t34", t35 "t35", t36 "t36", t37 "t37", t38 "t38", t39 "t39",
}

const PARTITIONS: usize = 64;
/// Set in the process whose address space is limited.
const IS_LIMITED: &str = "GLASSBOX_TEST_ADDRESS_SPACE";
const LIMIT_KIB: usize = 8 << 20;

fn open(table_bytes: usize) -> Result<Database, Error> {
    Database::in_memory(Config::default().with_partitions(PARTITIONS).with_table_bytes(table_bytes), catalog())
}

/// The number after these words.
fn number_after(text: &str, words: &str) -> usize {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no \"{words}\" in: {text}"));
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn a_database_without_address_space_names_table_bytes_that_fit() {
    if std::env::var_os(IS_LIMITED).is_some() {
        let error = open(usize::MAX).map(drop).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory(_)), "{error}");
        println!("refused: {error}");
        return;
    }
    let limited = "ulimit -v \"$1\"; exec \"$0\" --exact a_database_without_address_space_names_table_bytes_that_fit \
                   --nocapture";
    let ran = Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .arg(LIMIT_KIB.to_string())
        .env(IS_LIMITED, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
    let error = told.lines().find_map(|line| line.split_once("refused: ")).expect("it says so").1;
    assert!(error.contains("the address space of the process is used up: table \"t"), "{error}");
    assert_eq!(number_after(error, "with their indexes, in "), PARTITIONS, "{error}");
    let fits = number_after(error, "set `table_bytes` to ");
    assert!(fits << 13 > 1 << 45 && error.contains(&format!("{TABLES} tables")), "{error}");
    open(fits).unwrap();
}

/// Case 34: the number was 512 times what had been set.
#[test]
fn a_database_under_a_limit_names_table_bytes_that_fit_the_limit() {
    const TEST: &str = "a_database_under_a_limit_names_table_bytes_that_fit_the_limit";
    let open = |table_bytes| {
        Database::in_memory(Config::default().with_partitions(2).with_table_bytes(table_bytes), catalog())
    };
    if std::env::var_os(IS_LIMITED).is_some() {
        let set = 2 << 30;
        let error = open(set).map(drop).unwrap_err().to_string();
        let fits = number_after(&error, "set `table_bytes` to ");
        assert!(fits <= set / 2, "{error}");
        open(fits).unwrap_or_else(|error| panic!("with {fits}: {error}"));
        return;
    }
    let limited = format!("ulimit -v 12000000; exec \"$0\" --exact {TEST} --nocapture");
    let mut command = Command::new("sh");
    let ran = command.args(["-c", &limited]).arg(std::env::current_exe().unwrap()).env(IS_LIMITED, "1").output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
}
