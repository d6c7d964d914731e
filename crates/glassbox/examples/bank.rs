//! A bank: 10,000 transfers between accounts from four threads; whatever happens, no money appears or disappears.
use glassbox::{record::*, *};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id)]
struct Account {
    id: u32,
    balance: Decimal<2>,
}
#[derive(serde::Serialize, serde::Deserialize)]
struct Transfer {
    from: u32,
    to: u32,
    amount: Decimal<2>,
}
impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    type Output = Decimal<2>;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Account>(&self.from);
        set.write::<Account>(&self.to);
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Decimal<2>, Stop> {
        tx.update::<Account, _>(&self.to, |to| to.balance += self.amount)?.ok_or(Stop::abort(2, "no such account"))?;
        tx.update::<Account, _>(&self.from, |from| from.balance -= self.amount)?;
        let left = tx.get::<Account>(&self.from)?.map(|from| from.balance);
        left.filter(|left| *left >= Decimal::ZERO).ok_or(Stop::abort(1, "not enough money"))
    }
}
/// Runs the bank.
pub fn main() -> Result<(), Error> {
    let catalog = || Catalog::new().table::<Account>().procedure::<Transfer>();
    let db = Database::open("bank.db", Config::default(), catalog())?;
    if db.recovery().created {
        db.transaction(|tx| (0..100).try_for_each(|id| tx.insert(&Account { id, balance: Decimal::from_whole(100) })))?;
    }
    let transfer = |turn: u32| {
        let amount = Decimal::from_units(turn.into());
        let done = db.call(&Transfer { from: turn * 7 % 100, to: turn * 13 % 100, amount });
        assert!(matches!(done, Ok(_) | Err(Error::Aborted(_))), "what an account cannot pay changes nothing");
    };
    std::thread::scope(|threads| {
        for thread in 0..4 {
            threads.spawn(move || (thread..10_000).step_by(4).for_each(transfer));
        }
    });
    db.close()?;
    let sum = Database::open("bank.db", Config::default(), catalog())?.transaction(|tx| {
        let mut sum = Decimal::<2>::ZERO;
        tx.scan::<Account>(.., Direction::Forward, |account| {
            sum += account.balance;
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(sum)
    })?;
    println!("after 10,000 transfers there is {sum}, as before");
    assert_eq!(sum, Decimal::from_whole(10_000));
    Ok(())
}
