//! scratch
use glassbox_cluster::SchemeKind::*;
use glassbox_sim::cluster::{Load, Settings, World};
fn main() {
    for (name, base) in [
        ("plain", Load::default()),
        ("conflict20", Load { conflicts: 200_000, ..Load::default() }),
        ("conflict60", Load { conflicts: 600_000, ..Load::default() }),
        ("conflict100", Load { conflicts: 1_000_000, ..Load::default() }),
        ("abort3", Load { aborts: 30_000, ..Load::default() }),
        ("abort5", Load { aborts: 50_000, ..Load::default() }),
        ("abort10", Load { aborts: 100_000, ..Load::default() }),
        ("two", Load { two_rounds: 1_000_000, ..Load::default() }),
    ] {
        println!("{name}");
        for scheme in [Blocking, LocalSpeculation, Speculation, Locking, ForcedLocking] {
            print!("{scheme:>16?}");
            for percent in [0, 2, 4, 6, 10, 16, 20, 30, 40, 50, 60, 80, 100] {
                let load = Load { several: percent * 10_000, ..base };
                let mut world = World::new(Settings::of_the_paper(scheme, load, 1));
                world.keep_history(false);
                world.run_us(100_000);
                let m = world.run_us(500_000);
                print!(" {:6.0}", m.per_second);
            }
            println!();
        }
    }
}
