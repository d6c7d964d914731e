//! TPC-C under kills: its consistency conditions detect partial transactions, and orders are counted.

use std::sync::atomic::AtomicBool;

use glassbox::{BulkLoad, Database, Record};
use glassbox_workloads::tpcc::{self, Inputs, Kind, Observer, Remote, Scale, Settings, Sink, conditions};

use super::message::Message;

const SCALE: Scale = Scale::small(4);
const REMOTE: Remote = Remote { order_lines: 10.0, payments: 15.0 };
const IN_FLIGHT: usize = 16;

struct BulkLoader<'a>(&'a BulkLoad<'a>);

impl Sink for BulkLoader<'_> {
    type Error = glassbox::Error;
    fn row<R: Record>(&mut self, row: &R) -> Result<(), glassbox::Error> {
        self.0.insert(row)
    }
}

/// Loads an empty database, and checks the conditions. Returns the number of orders since the population, as of one
/// client.
pub fn check(db: &Database) -> anyhow::Result<Result<Vec<u64>, String>> {
    if db.transaction(|tx| tpcc::stored_scale(tx))?.is_none() {
        let bulk = db.bulk_load()?;
        tpcc::load(&SCALE, 0, 1, || BulkLoader(&bulk), |_| {})?;
        bulk.finish()?;
    }
    let violated = db.transaction(|tx| conditions::violated(tx, &SCALE))?;
    if let Some(report) = violated.first() {
        return Ok(Err(report.to_string()));
    }
    let orders = db.transaction(|tx| conditions::orders_entered(tx, &SCALE))?;
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
