//! TPC-C's procedures with a stated computation, on a processor that there is one of.
//!
//! And in the order of the specification: its transactions lock the rows that all need first, the warehouse's and the
//! district's, and read what is not in memory while they hold them. Glassbox's own procedures lock these rows last.

use std::sync::{Mutex, PoisonError};

use glassbox::config::ExecutionPolicy;
use glassbox::io::{Clock, RealClock};
use glassbox::procedure::{Abort, Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::{Catalog, Database, Error};
use glassbox_workloads::tpcc::schema::{District, Warehouse};
use glassbox_workloads::tpcc::{
    ABORT_UNUSED_ITEM, Call, Delivery, Input, Kind, NewOrder, OrderStatus, Payment, StockLevel, tables,
};
use serde::{Deserialize, Serialize};

/// A processor: computations follow each other, in the order in which they are asked for.
struct Processor {
    /// When it is free.
    free_at_ns: Mutex<u64>,
    clock: RealClock,
}

static PROCESSOR: std::sync::LazyLock<Processor> =
    std::sync::LazyLock::new(|| Processor { free_at_ns: Mutex::new(0), clock: RealClock::new() });

impl Processor {
    /// Returns when it has computed for so long.
    fn compute(&self, ns: u64) {
        let until_ns = {
            let mut free_at_ns = self.free_at_ns.lock().unwrap_or_else(PoisonError::into_inner);
            *free_at_ns = self.clock.monotonic_ns().max(*free_at_ns) + ns;
            *free_at_ns
        };
        self.clock.sleep_until_ns(until_ns);
    }
}

/// Rows that a transaction accesses first.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) enum First {
    /// Whichever the procedure accesses first.
    #[default]
    Any,
    /// It reads the warehouse and changes the district.
    District(u16, u8),
    /// It changes both.
    WarehouseAndDistrict(u16, u8),
}

impl First {
    /// As the specification has it.
    pub(super) fn of(input: &Input) -> Self {
        match input {
            Input::NewOrder(order) => Self::District(order.w_id, order.d_id),
            Input::Payment(payment) => Self::WarehouseAndDistrict(payment.w_id, payment.d_id),
            _ => Self::Any,
        }
    }

    fn access<T: Transaction>(self, tx: &mut T) -> Result<(), Stop> {
        let (warehouse, district) = match self {
            Self::Any => return Ok(()),
            Self::District(warehouse, district) => {
                tx.get::<Warehouse>(&warehouse)?;
                (warehouse, district)
            }
            Self::WarehouseAndDistrict(warehouse, district) => {
                tx.update::<Warehouse, _>(&warehouse, |_| ())?;
                (warehouse, district)
            }
        };
        tx.update::<District, _>(&(warehouse, district), |_| ())?;
        Ok(())
    }
}

/// A procedure that computes at its end, while it holds its locks, as in the paper.
#[derive(Debug, Serialize, Deserialize)]
struct Computing<P> {
    call: P,
    first: First,
    ns: u64,
}

impl<P: Procedure> Procedure for Computing<P> {
    const NAME: &'static str = P::NAME;
    type Output = P::Output;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.call.declare(set)
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<P::Output, Stop> {
        self.first.access(tx)?;
        let output = self.call.run(tx)?;
        if self.ns > 0 {
            PROCESSOR.compute(self.ns);
        }
        Ok(output)
    }
}

/// The tables of TPC-C, and its procedures with a computation.
pub(super) fn catalog() -> Catalog {
    tables()
        .procedure::<Computing<NewOrder>>()
        .procedure::<Computing<Payment>>()
        .procedure::<Computing<OrderStatus>>()
        .procedure::<Computing<Delivery>>()
        .procedure::<Computing<StockLevel>>()
}

/// Executes all procedures by another policy from now on.
pub(super) fn set_execution(db: &Database, policy: ExecutionPolicy) -> Result<(), Error> {
    db.set_execution::<Computing<NewOrder>>(policy)?;
    db.set_execution::<Computing<Payment>>(policy)?;
    db.set_execution::<Computing<OrderStatus>>(policy)?;
    db.set_execution::<Computing<Delivery>>(policy)?;
    db.set_execution::<Computing<StockLevel>>(policy)
}

/// Calls procedures, each with this computation.
pub(super) struct SessionCaller<'a> {
    pub db: &'a Database,
    pub first: First,
    pub computation_ns: u64,
}

impl Call for SessionCaller<'_> {
    type Answer = Result<(), Error>;

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, call: &P) -> Result<(), Error> {
        match self.db.call(&Computing { call: *call, first: self.first, ns: self.computation_ns }) {
            // As the specification wants it of one New-Order in a hundred.
            Err(Error::Aborted(Abort { code: ABORT_UNUSED_ITEM, .. })) if kind == Kind::NewOrder => Ok(()),
            called => called.map(drop),
        }
    }
}
