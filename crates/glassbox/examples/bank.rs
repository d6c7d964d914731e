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
const NOT_ENOUGH: u32 = 1;
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
        let pay = |from: &mut Account| (from.balance >= self.amount).then(|| from.balance -= self.amount);
        let paid = tx.update::<Account, _>(&self.from, pay)?.ok_or(Stop::abort(2, "no such account"))?;
        paid.ok_or(Stop::abort(NOT_ENOUGH, "not enough money"))?;
        Ok(tx.get::<Account>(&self.from)?.map_or(Decimal::ZERO, |from| from.balance))
    }
}
/// All the money there is.
fn sum(db: &Database) -> Result<Decimal<2>, Error> {
    db.transaction(|tx| {
        let mut sum = Decimal::ZERO;
        tx.scan::<Account>(.., Direction::Forward, |account| {
            sum += account.balance;
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(sum)
    })
}
/// Opens the bank, or makes it.
pub fn open() -> Result<Database, Error> {
    let catalog = Catalog::new().table::<Account>().procedure::<Transfer>();
    Database::open("bank.db", Config::default(), catalog)
}
/// Runs the bank.
pub fn main() -> Result<(), Error> {
    let db = open()?;
    // A process may be killed at any moment: the rows, in one transaction, say whether it came this far.
    db.transaction(|tx| match tx.get::<Account>(&0)? {
        Some(_) => Ok(()),
        None => (0..100).try_for_each(|id| tx.insert(&Account { id, balance: Decimal::from_whole(100) })),
    })?;
    let before = sum(&db)?;
    let transfer = |turn: u32| {
        let amount = Decimal::from_units(turn.into());
        match db.call(&Transfer { from: turn * 7 % 100, to: turn * 13 % 100, amount }) {
            Ok(_) => Ok(()),
            Err(Error::Aborted(abort)) if abort.code == NOT_ENOUGH => Ok(()),
            Err(error) => Err(error),
        }
    };
    std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|n| scope.spawn(move || (n..10_000).step_by(4).try_for_each(transfer)));
        threads.into_iter().try_for_each(|thread| thread.join().expect("no transfer panics"))
    })?;
    let after = sum(&db)?;
    println!("after 10,000 transfers there is {after}, as before");
    assert_eq!((before, after), (Decimal::from_whole(10_000), before));
    db.close()
}
