//! Which cores a client and what works for it are measured on.
//!
//! A device interrupts the cores that the system chose for it, and what runs there pays for that. A thread that may run
//! anywhere is moved to where it is quiet; one that is pinned, so that it stays where its caches are, has to be put
//! there.

use core_affinity::CoreId;

/// The cores that this thread may run on, those first that devices have interrupted least since the system started.
/// Where the system does not tell, the last core comes first.
pub(crate) fn quietest_first() -> Vec<CoreId> {
    // If it cannot be read, or is not as expected, none was interrupted.
    let told = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let mut cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.reverse();
    cores.sort_by_key(|core| interrupts(&told, core.id));
    cores
}

/// How often devices have interrupted a core: in `/proc/interrupts`, the rows whose label is a number.
fn interrupts(told: &str, core: usize) -> u64 {
    let mut rows = told.lines();
    let heading = rows.next().unwrap_or_default();
    let Some(column) = heading.split_whitespace().position(|name| name == format!("CPU{core}")) else { return 0 };
    let of_device = rows.filter_map(|row| {
        let (label, counts) = row.split_once(':')?;
        label.trim().parse::<u32>().ok()?;
        counts.split_whitespace().nth(column)?.parse::<u64>().ok()
    });
    of_device.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_of_devices_are_added_up_by_core() {
        let told = "           CPU0       CPU2\n\
                     28:          7          0  PCI-MSIX   0-edge      disk\n\
                     36:         12    2388067  PCI-MSIX   1-edge      9 network\n\
                    LOC:    4000000          1   Local timer\n\
                    ERR:          0\n";
        assert_eq!([0, 1, 2].map(|core| interrupts(told, core)), [19, 0, 2_388_067]);
        assert_eq!(interrupts("", 0), 0);
    }

    #[test]
    fn every_core_is_there_once() {
        let mut cores: Vec<_> = quietest_first().into_iter().map(|core| core.id).collect();
        cores.sort_unstable();
        let all: Vec<_> = core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect();
        assert_eq!(cores, all);
    }
}
