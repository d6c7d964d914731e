//! TPC-C's procedures on several shards, one call after the other, against one shard with all rows: the same answers,
//! the same rows, and at most one round.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use glassbox::procedure::Procedure;
use glassbox::record::{Record, Timestamp};
use glassbox::research::shard::{Arguments, Call, PartitionSet, Ran, Shard, Task};
use glassbox::{Catalog, Error};
use glassbox_cluster::run::Shape;
use glassbox_cluster::{Action, Address, FragmentWork, Member, Message, Outbox, Outcome, Packet, Router, SchemeKind};
use glassbox_workloads::tpcc::schema::{
    Customer, District, History, Item, Order, OrderLine, PlaceName, Stock, StockInfo, Undelivered, Warehouse,
};
use glassbox_workloads::tpcc::{self, ABORT_NO_CUSTOMER, Customers, Inputs, Kind, Payment, Remote, Scale, Settings};

const ME: Address = Address::Client(0);

fn shard(catalog: &Catalog, scale: &Scale, index: usize, count: usize) -> Shard {
    let mut shard = Shard::new(catalog, index, count, 64 << 20).unwrap();
    tpcc::fill(scale, 0, &mut shard).unwrap();
    shard
}

/// A cluster whose messages are delivered one after the other.
struct Carried {
    catalog: Arc<Catalog>,
    machines: BTreeMap<Address, Member>,
    router: Router,
    post: VecDeque<(Address, Address, Message)>,
    /// Calls that were distributed.
    several: u64,
    /// The shard with all rows.
    alone: Shard,
    calls: u64,
}

impl Carried {
    fn new(partitions: u8, scheme: SchemeKind, scale: &Scale) -> Self {
        let catalog = Arc::new(tpcc::distributed_catalog());
        let shape = Shape::new(scheme, partitions).with_replicas(2);
        let machine = |address| {
            let filled =
                |partition| Ok::<_, Error>(shard(&catalog, scale, usize::from(partition), usize::from(partitions)));
            (address, shape.member(address, filled).unwrap())
        };
        let machines = shape.machines().into_iter().map(machine).collect();
        let router = Router::new(ME, Arc::clone(&catalog), shape.configuration(), 0);
        let alone = shard(&catalog, scale, 0, 1);
        Self { catalog, machines, router, post: VecDeque::new(), several: 0, alone, calls: 0 }
    }

    fn put(&mut self, from: Address, out: Outbox) {
        for action in out.actions {
            if let Action::Send(to, message) = action {
                if let Message::Fragment(fragment) = &message {
                    let FragmentWork::Run(given) = &fragment.work else { panic!("rows are asked for: {fragment:?}") };
                    assert!(fragment.round == 0 && given.is_empty(), "a second round: {fragment:?}");
                    self.several += 1;
                }
                self.post.push_back((from, to, message));
            }
        }
    }

    /// Delivers messages until there are none.
    fn settle(&mut self) {
        while let Some((from, to, message)) = self.post.pop_front() {
            let mut out = Outbox::default();
            match self.machines.get_mut(&to) {
                Some(machine) => {
                    machine.handle(from, Packet { epoch: 1, message }, 0, &mut out);
                    while machine.proceed(&mut out) {}
                }
                None => drop(self.router.handle(from, Packet { epoch: 1, message }, 0, &mut out)),
            }
            self.put(to, out);
        }
    }

    fn call<P: Procedure>(&mut self, procedure: &P) -> (Result<P::Output, Error>, Result<P::Output, Error>) {
        self.calls += 1;
        let (now_us, seed) = (self.calls, self.calls * 77);
        let mut out = Outbox::default();
        // Each side needs its own procedure, and not every procedure can be cloned.
        let arguments: Arguments = postcard::to_allocvec(procedure).unwrap().into();
        let procedure = postcard::from_bytes::<P>(&arguments.bytes()).unwrap();
        let id = self.router.call(procedure, now_us, seed, &mut out).unwrap();
        self.put(ME, out);
        self.settle();
        let answered = self.router.take(id).expect("every call ends");
        let now = Timestamp::from_micros(now_us as i64);
        let call = Call { procedure: self.catalog.number_of::<P>().unwrap(), arguments, now, seed };
        let outcome = match self.alone.run(&call, Task { participants: PartitionSet::of(0), given: &[] }, None, None) {
            Ran::Done(output) => Outcome::Done([(0, output)].into_iter().collect()),
            Ran::Aborted(abort) => Outcome::Aborted(abort),
            other => panic!("alone: {other:?}"),
        };
        let expected = glassbox_cluster::Answered { id, outcome, home: 0 };
        (answered.output::<P>(), expected.output::<P>())
    }

    fn same<R: Record>(&mut self) {
        let bytes = |row: &R| {
            let mut bytes = vec![0; R::ROW_WIDTH];
            row.store(&mut bytes);
            bytes
        };
        let all = |shard: &mut Shard| {
            let mut rows = Vec::new();
            shard.rows::<R>(|row| rows.push(bytes(row)));
            rows.sort();
            rows
        };
        let expected = all(&mut self.alone);
        let mut by_replica: BTreeMap<u8, Vec<Vec<u8>>> = BTreeMap::new();
        for (address, machine) in &mut self.machines {
            let (Address::Replica { replica, .. }, Some(shard)) = (*address, machine.shard()) else { continue };
            let rows = all(shard);
            if R::PLACEMENT.is_none() {
                assert!(rows == expected, "{} differs at {address}", R::TABLE);
            }
            by_replica.entry(replica).or_default().extend(rows);
        }
        for (replica, mut rows) in by_replica.into_iter().filter(|_| R::PLACEMENT.is_some()) {
            rows.sort();
            assert!(rows == expected, "{} differs in replicas {replica}", R::TABLE);
        }
    }

    fn assert_same_rows(&mut self) {
        self.same::<Warehouse>();
        self.same::<District>();
        self.same::<Customer>();
        self.same::<History>();
        self.same::<Undelivered>();
        self.same::<Order>();
        self.same::<OrderLine>();
        self.same::<Item>();
        self.same::<Stock>();
        self.same::<StockInfo>();
        self.same::<PlaceName>();
    }
}

/// Compares answers in their debug form.
struct Comparing<'a>(&'a mut Carried);

impl tpcc::Call for Comparing<'_> {
    type Answer = bool;

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) -> bool {
        let words = |outcome: Result<P::Output, Error>| match outcome {
            Ok(output) => postcard::to_allocvec(&output).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let (found, expected) = self.0.call(procedure);
        let (found, expected) = (words(found), words(expected));
        assert_eq!(found, expected, "{kind:?}");
        found.is_ok()
    }
}

fn scale() -> Scale {
    Scale { warehouses: 4, items: 100, customers: 10, orders: 10 }
}

#[test]
fn several_shards_answer_and_end_as_one_does_in_one_round() {
    let scale = scale();
    for (partitions, scheme) in [
        (2, SchemeKind::Speculation),
        (3, SchemeKind::Speculation),
        (3, SchemeKind::Locking),
        (2, SchemeKind::Blocking),
    ] {
        let mut carried = Carried::new(partitions, scheme, &scale);
        let remote = Remote { order_lines: 20.0, payments: 50.0 };
        let mut inputs = Inputs::new(&Settings { remote, ..Settings::new(scale) }, 0);
        let done = (0..600).filter(|_| inputs.next().give(&mut Comparing(&mut carried))).count();
        assert!((580..600).contains(&done), "{done} are done");
        assert!(carried.several > 300, "{} fragments", carried.several);
        carried.assert_same_rows();
    }
}

#[test]
fn a_payment_of_an_unknown_customer_changes_nothing() {
    let mut carried = Carried::new(2, SchemeKind::Speculation, &scale());
    let amount = glassbox::record::Decimal::from_whole(10);
    for c_w_id in [1, 2, 9] {
        let customer = Customers::Id(99);
        let payment = Payment { w_id: 1, d_id: 1, c_w_id, c_d_id: 1, customer, amount };
        let (found, expected) = carried.call(&payment);
        assert_eq!(expected.unwrap(), None);
        match found {
            Ok(None) => assert!(c_w_id % 2 == 1, "both warehouses are on one partition"),
            Err(Error::Aborted(abort)) => assert_eq!((abort.code, c_w_id % 2), (ABORT_NO_CUSTOMER, 0)),
            other => panic!("{other:?}"),
        }
    }
    carried.assert_same_rows();
}
