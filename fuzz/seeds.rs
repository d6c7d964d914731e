//! Writes the seeds of all targets where libFuzzer looks for them: `cargo run --bin seeds` in this directory.

fn main() -> std::io::Result<()> {
    for (target, _) in glassbox::fuzzing::TARGETS {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&directory)?;
        for (number, seed) in glassbox::fuzzing::seeds(target).iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number:02}")), seed)?;
        }
    }
    Ok(())
}
