//! A bank: transfers between accounts from four threads; whatever happens, no money appears or disappears.

use std::ops::ControlFlow;

use glassbox::record::{Decimal, Direction};
use glassbox::{Abort, Catalog, Config, Database, Declared, Error, Procedure, ReadWriteSet, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id)]
struct Account {
    id: u32,
    balance: Decimal<2>,
}

#[derive(Serialize, Deserialize)]
struct Transfer {
    from: u32,
    to: u32,
    amount: Decimal<2>,
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    type Output = Decimal<2>;

    fn declare(&self, set: &mut ReadWriteSet) -> Declared {
        set.write::<Account>(&self.from);
        set.write::<Account>(&self.to);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Decimal<2>, Stop> {
        tx.update::<Account, _>(&self.to, |to| to.balance += self.amount)?.ok_or(Stop::abort(2, "no such account"))?;
        let left = tx.update::<Account, _>(&self.from, |from| {
            from.balance -= self.amount;
            from.balance
        })?;
        left.filter(|left| *left >= Decimal::ZERO).ok_or(Stop::abort(1, "not enough money"))
    }
}

fn main() -> Result<(), Error> {
    let open =
        || Database::open("bank.db", Config::default(), Catalog::new().table::<Account>().procedure::<Transfer>());
    let db = open()?;
    if db.recovery().created {
        db.transaction(|tx| (0..100).try_for_each(|id| tx.insert(&Account { id, balance: Decimal::from_whole(100) })))?;
    }
    std::thread::scope(|threads| {
        for thread in 0..4_u32 {
            let db = &db;
            threads.spawn(move || {
                for turn in 0..2_500 {
                    let (from, to) = ((thread + turn * 7) % 100, (turn * 13 + 1) % 100);
                    match db.call(&Transfer { from, to, amount: Decimal::from_units(i64::from(turn % 5_000)) }) {
                        Ok(_) | Err(Error::Aborted(Abort { code: 1, .. })) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    db.close()?;

    let mut sum = Decimal::<2>::ZERO;
    sum += open()?.transaction(|tx| {
        let mut sum = Decimal::<2>::ZERO;
        tx.scan::<Account>(.., Direction::Forward, |account| {
            sum += account.balance;
            ControlFlow::Continue(())
        })?;
        Ok(sum)
    })?;
    println!("10,000 transfers, {} accounts' money: {sum}", 100);
    assert_eq!(sum, Decimal::from_whole(10_000));
    Ok(())
}
