//! Sibling programs: `glassbox`, `glassbox-cluster` and `glassbox-lab` start each other.
//!
//! One program with everything would have every user compile the laboratory. So each is compiled for itself, and looks
//! for the others when they are needed: next to itself, where an installation has them, then in the folders of cargo's
//! profiles `lab` and `release`. A program that is missing is an error with the line to type.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The product's program.
pub const GLASSBOX: &str = "glassbox";
/// The program of clusters.
pub const CLUSTER: &str = "glassbox-cluster";
/// The laboratory.
pub const LAB: &str = "glassbox-lab";

/// Folders of a target directory with programs that are built with optimisation.
const OPTIMISED: [&str; 2] = ["lab", "release"];

/// The command that builds a program, in a checkout.
fn line_to_type(name: &str) -> String {
    let profile = if name == LAB { "--profile lab" } else { "--release" };
    let package = if name == LAB { LAB.to_owned() } else { format!("{name}-cli") };
    format!("cargo build {profile} -p {package}")
}

/// The file of a program, sought from the file of the running one.
fn find_from(own: &Path, name: &str) -> anyhow::Result<PathBuf> {
    if own.file_name() == Some(OsStr::new(name)) {
        return Ok(own.to_owned());
    }
    let folder = own.parent().context("this program's file is in no folder")?;
    let profiles = folder.parent().into_iter().flat_map(|target| OPTIMISED.map(|profile| target.join(profile)));
    let found = std::iter::once(folder.to_owned()).chain(profiles).map(|it| it.join(name)).find(|it| it.is_file());
    match found {
        Some(file) => Ok(file),
        None => bail!(
            "the program `{name}` is missing: it is not next to {}; build it with `{}`",
            own.display(),
            line_to_type(name)
        ),
    }
}

/// The file of a program.
///
/// # Errors
/// When it is not there, with the line that builds it.
pub fn find(name: &str) -> anyhow::Result<PathBuf> {
    find_from(&std::env::current_exe().context("cannot find this program's file")?, name)
}

/// Replaces this process by a sibling program.
///
/// # Errors
/// When the program is missing, or cannot be started; otherwise this does not return.
pub fn become_program<S: AsRef<OsStr>>(
    name: &str,
    arguments: impl IntoIterator<Item = S>,
) -> anyhow::Result<std::convert::Infallible> {
    let file = find(name)?;
    let error = Command::new(&file).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_next_to_each_other_then_in_the_folders_of_profiles() {
        let target = tempfile::tempdir().unwrap();
        let file = |folder: &str, name: &str| target.path().join(folder).join(name);
        for folder in ["debug", "lab", "release"] {
            std::fs::create_dir(target.path().join(folder)).unwrap();
        }
        let own = file("debug", GLASSBOX);
        assert_eq!(find_from(&own, GLASSBOX).unwrap(), own);
        for folder in ["release", "lab", "debug"] {
            std::fs::write(file(folder, LAB), "").unwrap();
            assert_eq!(find_from(&own, LAB).unwrap(), file(folder, LAB));
        }
    }

    #[test]
    fn a_missing_program_is_an_error_with_the_line_to_type() {
        let target = tempfile::tempdir().unwrap();
        let own = target.path().join("debug/glassbox");
        let missing = |name| find_from(&own, name).unwrap_err().to_string();
        assert!(missing(LAB).ends_with("`cargo build --profile lab -p glassbox-lab`"), "{}", missing(LAB));
        assert!(missing(CLUSTER).ends_with("`cargo build --release -p glassbox-cluster-cli`"));
    }
}
