//! The bank: transfers whose effects follow from their number.
//!
//! Transfer number `n` of a client is a function of the two, and never fails. So the counters of the clients, read
//! after a crash, determine every other row: the balance of each account, and the receipts of each client's latest
//! transfers (older ones are deleted). A transaction that is there partially, twice, or interleaved with another is
//! detected.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use glassbox::procedure::Abort;
use glassbox::record::{Decimal, Direction};
use glassbox::{Catalog, Database, Declared, Error, KeySet, Procedure, Record, Stop, Transaction};
use glassbox_workloads::tpcc::random::Random;
use serde::{Deserialize, Serialize};

use super::message::Message;

const ACCOUNTS: u32 = 500;
/// Receipts of each client.
const RECEIPTS: u64 = 50;
/// Transactions in flight of each client.
const IN_FLIGHT: usize = 16;
/// Transactions in each announcement.
const ANNOUNCED: u64 = 64;
/// One in so many transactions follows one that changes rows and then aborts.
const DOOMED: u64 = 16;
/// The code of that abort.
const ABORT_DOOMED: u32 = 1;
/// The code of the abort of a transfer out of order.
const ABORT_ORDER: u32 = 2;

type Money = Decimal<2>;

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id)]
struct Account {
    id: u32,
    balance: Money,
}

#[derive(Record, Clone, Copy)]
#[record(table = "client", key = id, access = point)]
struct Client {
    id: u32,
    transfers: u64,
}

#[derive(Record, Clone, Copy, PartialEq, Debug)]
#[record(table = "receipt", key = (client, number), partition_by = client)]
#[record(index(name = by_payer, columns = (client, payer)))]
struct Receipt {
    client: u32,
    number: u64,
    payer: u32,
    payee: u32,
    amount: Money,
}

#[derive(Serialize, Deserialize)]
struct Transfer {
    receipt_client: u32,
    number: u64,
    doomed: bool,
}

/// Transfer `number` of `client`.
fn receipt(client: u32, number: u64) -> Receipt {
    let mut random = Random::of_part(0xba9c, [client.into(), number, 0]);
    let payer = random.uniform(1, ACCOUNTS.into()) as u32;
    // Another account, often on another partition.
    let payee = (payer + random.uniform(1, u64::from(ACCOUNTS) - 1) as u32 - 1) % ACCOUNTS + 1;
    Receipt { client, number, payer, payee, amount: Decimal::from_units(random.uniform(1, 100_000) as i64) }
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        let receipt = receipt(self.receipt_client, self.number);
        set.write::<Client>(&receipt.client);
        set.write::<Account>(&receipt.payer);
        set.write::<Account>(&receipt.payee);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let receipt = receipt(self.receipt_client, self.number);
        let Receipt { client, number, payer, payee, amount } = receipt;
        let account = || Stop::abort(ABORT_ORDER, "no such account");
        tx.update::<Account, _>(&payer, |payer| payer.balance -= amount)?.ok_or_else(account)?;
        let before = tx.update::<Client, _>(&client, |client| {
            client.transfers += 1;
            client.transfers - 1
        })?;
        if before != Some(number - 1) {
            return Err(Stop::abort(
                ABORT_ORDER,
                format!("transfer {number} is out of order: the counter was {before:?}"),
            ));
        }
        tx.insert(&receipt)?;
        if number > RECEIPTS {
            tx.delete::<Receipt>(&(client, number - RECEIPTS))?;
        }
        if self.doomed {
            return Err(Stop::abort(ABORT_DOOMED, "doomed"));
        }
        tx.update::<Account, _>(&payee, |payee| payee.balance += amount)?.ok_or_else(account)?;
        Ok(())
    }
}

pub fn catalog() -> Catalog {
    Catalog::new().table::<Account>().table::<Client>().table::<Receipt>().procedure::<Transfer>()
}

/// Inserts missing accounts and clients, in small transactions, so that it may be interrupted at any point.
fn prepare(db: &Database, clients: usize) -> Result<(), Error> {
    let have = db.transaction(|tx| Ok(tx.get::<Account>(&ACCOUNTS)?.is_some()))?;
    if !have {
        db.transaction(|tx| (1..=ACCOUNTS).try_for_each(|id| tx.insert(&Account { id, balance: Money::ZERO })))?;
    }
    for id in 0..clients as u32 {
        db.transaction(|tx| match tx.get::<Client>(&id)? {
            Some(_) => Ok(()),
            None => tx.insert(&Client { id, transfers: 0 }),
        })?;
    }
    Ok(())
}

/// Checks all rows against the clients' counters. Returns the counters of `clients` clients.
pub fn check(db: &Database, clients: usize) -> anyhow::Result<Result<Vec<u64>, String>> {
    prepare(db, clients)?;
    let (counts, balances, receipts) = db.transaction(|tx| {
        let mut counts = Vec::new();
        while let Some(client) = tx.get::<Client>(&(counts.len() as u32))? {
            counts.push(client.transfers);
        }
        let (mut balances, mut receipts) = (Vec::new(), Vec::new());
        tx.scan::<Account>(.., Direction::Forward, |account| {
            balances.push((account.id, account.balance));
            ControlFlow::Continue(())
        })?;
        tx.scan::<Receipt>(.., Direction::Forward, |receipt| {
            receipts.push(*receipt);
            ControlFlow::Continue(())
        })?;
        Ok((counts, balances, receipts))
    })?;
    let mut expected: Vec<_> = (1..=ACCOUNTS).map(|id| (id, Money::ZERO)).collect();
    let mut expected_receipts = Vec::new();
    for (client, &count) in counts.iter().enumerate() {
        for number in 1..=count {
            let receipt = receipt(client as u32, number);
            expected[receipt.payer as usize - 1].1 -= receipt.amount;
            expected[receipt.payee as usize - 1].1 += receipt.amount;
            if number + RECEIPTS > count {
                expected_receipts.push(receipt);
            }
        }
    }
    if let Some((found, wanted)) = balances.iter().zip(&expected).find(|(found, wanted)| found != wanted) {
        return Ok(Err(format!("account {} has {} instead of {}", found.0, found.1, wanted.1)));
    }
    if balances.len() != expected.len() || receipts != expected_receipts {
        let (found, wanted) = (receipts.len(), expected_receipts.len());
        return Ok(Err(format!("{} accounts; {found} receipts instead of {wanted}, or other ones", balances.len())));
    }
    Ok(Ok(counts.into_iter().take(clients).collect()))
}

/// Runs one client, until the process is killed.
pub fn run_client(db: &Database, client: usize, mut number: u64) -> anyhow::Result<()> {
    let mut ring = VecDeque::with_capacity(IN_FLIGHT);
    let mut announced = number;
    loop {
        number += 1;
        if number > announced {
            announced = number + ANNOUNCED;
            Message::WillSend(client, announced).send()?;
        }
        let receipt_client = client as u32;
        if number.is_multiple_of(DOOMED) {
            match db.call(&Transfer { receipt_client, number, doomed: true }) {
                Err(Error::Aborted(Abort { code: ABORT_DOOMED, .. })) => {}
                other => anyhow::bail!("a doomed transfer did not abort: {other:?}"),
            }
        }
        ring.push_back((number, db.submit(Transfer { receipt_client, number, doomed: false })?));
        if ring.len() == IN_FLIGHT {
            let (done, ticket) = ring.pop_front().expect("it is full");
            ticket.wait()?;
            Message::Acknowledged(client, done).send()?;
        }
    }
}
