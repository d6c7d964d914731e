//! Writes the seeds of all targets where libFuzzer looks for them: `cargo run --bin seeds` in this directory.

use glassbox::research::fuzzing;

fn main() -> std::io::Result<()> {
    let of_the_engine = fuzzing::TARGETS.map(|(target, _)| (target, fuzzing::seeds(target)));
    let of_the_cluster = [("wire", glassbox_cluster::wire::fuzzing::seeds())];
    for (target, seeds) in of_the_engine.into_iter().chain(of_the_cluster) {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&directory)?;
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number:02}")), seed)?;
        }
    }
    Ok(())
}
