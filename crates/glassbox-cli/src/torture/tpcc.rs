//! TPC-C under kills: its consistency conditions detect partial transactions, and orders are counted.

use std::sync::atomic::AtomicBool;

use glassbox::Database;
use glassbox_workloads::tpcc::{self, Inputs, Kind, Observer, Remote, Scale, Settings};

use super::message::Message;

const SCALE: Scale = Scale::small(4);
const REMOTE: Remote = Remote { order_lines: 10.0, payments: 15.0 };
const IN_FLIGHT: usize = 16;

/// Loads an empty database, and checks the conditions. Returns the number of orders since the population, as of one
/// client.
pub fn check(db: &Database) -> anyhow::Result<Result<Vec<u64>, String>> {
    if tpcc::scale_of_database(db)?.is_none() {
        let bulk = db.bulk_load()?;
        tpcc::load_database(&bulk, &SCALE, tpcc::LOAD_SEED, 1, &|_| true)?;
        bulk.finish()?;
    }
    let conditions = tpcc::check_database(db, &SCALE)?;
    if let Some(report) = conditions.iter().find(|report| !report.holds()) {
        return Ok(Err(report.to_string()));
    }
    let orders = tpcc::orders_in_database(db, &SCALE)?;
    Ok(Ok(vec![orders]))
}

struct ReportOrders {
    client: usize,
    orders: u64,
}

impl Observer for ReportOrders {
    fn answered(&mut self, kind: Kind, _latency_ns: u64, committed: bool) {
        if kind == Kind::NewOrder && committed {
            self.orders += 1;
            // If the parent has exited, the next message that matters fails.
            let _ = Message::Acknowledged(self.client, self.orders).send();
        }
    }
}

/// Runs one client, until the process is killed.
pub fn run_client(db: &Database, client: usize, seed: u64) -> anyhow::Result<()> {
    let settings = Settings { remote: REMOTE, seed, ..Settings::new(SCALE) };
    let mut inputs = Inputs::new(&settings, client as u64);
    tpcc::run_client(db, &mut inputs, IN_FLIGHT, &AtomicBool::new(false), &mut ReportOrders { client, orders: 0 })?;
    Ok(())
}
