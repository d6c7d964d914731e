//! Prepared transactions: what a database does in a two-phase commit that a program coordinates.

use crate::answer::Answer;
use crate::classic;
use crate::database::Database;
use crate::database::any_engine::AnyEngine;
use crate::error::Error;
use crate::executed::PreparedTransaction;
use crate::log::Lsn;
use crate::procedure::Procedure;

impl Database {
    /// Runs a procedure and prepares its transaction under a name: the first phase of a two-phase commit. When this
    /// returns an output, the transaction is durable whatever the configured durability, but neither committed nor
    /// aborted: its changes are hidden by its locks until [`Database::commit_prepared`] or
    /// [`Database::roll_back_prepared`], also after a crash or a close. [`Database::prepared`] lists those that wait.
    ///
    /// A prepared transaction that is forgotten keeps its locks and the log behind its first record for ever. While one
    /// is there, the database opens only with the indexes that it has. Transactions that wait for each other's locks in
    /// two databases are no deadlock to either, so a call of this waits until another thread ends one of the two.
    ///
    /// A call that needs a row of a prepared transaction waits for the decision: without
    /// [`ClassicConfig::lock_timeout_ms`](crate::config::ClassicConfig::lock_timeout_ms) for ever, if there is none. So
    /// does a call that only inserts next to such a row. An insert locks the next key of each index, which keeps
    /// phantoms from scans, so it waits if the transaction has locked that key, however far away the key is: an
    /// insert of group 0 waits for a prepared insert of group 4 while no key lies between the two.
    /// [`Database::sessions`] shows the waits under way and the names that they wait for, [`Database::explain_waits`]
    /// those that have ended.
    ///
    /// ```
    /// use glassbox::{Catalog, Config, Database, Procedure, Record, Stop, Transaction};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Record, Clone, Copy)]
    /// #[record(table = "account", key = id)]
    /// struct Account { id: u64, balance: i64 }
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Add { id: u64, amount: i64 }
    ///
    /// impl Procedure for Add {
    ///     const NAME: &'static str = "add";
    ///     type Output = i64;
    ///
    ///     fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
    ///         let add = |row: &mut Account| { row.balance += self.amount; row.balance };
    ///         tx.update::<Account, _>(&self.id, add)?.ok_or_else(|| Stop::abort(1, "no such account"))
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), glassbox::Error> {
    /// # let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    /// let config = Config::classic(glassbox::config::ClassicConfig::default().with_pool_bytes(4 << 20));
    /// let catalog = || Catalog::new().table::<Account>().procedure::<Add>();
    /// let open = |at: usize| Database::open(directories[at].path(), config.clone(), catalog());
    /// let banks = [open(0)?, open(1)?];
    /// for bank in &banks {
    ///     bank.transaction(|tx| tx.insert(&Account { id: 7, balance: 100 }))?;
    /// }
    ///
    /// // From one to the other: only if both can.
    /// banks[0].prepare("transfer 1", &Add { id: 7, amount: -30 })?;
    /// match banks[1].prepare("transfer 1", &Add { id: 7, amount: 30 }) {
    ///     Ok(_) => banks.iter().try_for_each(|bank| bank.commit_prepared("transfer 1"))?,
    ///     Err(_) => banks[0].roll_back_prepared("transfer 1")?,
    /// }
    /// let read = |bank: &Database| bank.transaction(|tx| Ok(tx.get::<Account>(&7)?.map(|row| row.balance)));
    /// assert_eq!((read(&banks[0])?, read(&banks[1])?), (Some(70), Some(130)));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::AlreadyPrepared`] when the name is in use, [`Error::TooManyPrepared`] beyond
    /// [`ClassicConfig::prepared_transactions`](crate::config::ClassicConfig::prepared_transactions), [`Error::Config`]
    /// on the partitioned engine and for a name that is empty or has more than 200 bytes; else as for
    /// [`Database::call`]. After an error nothing is prepared, unless it is [`Error::OutcomeUnknown`].
    ///
    /// # Panics
    /// When the procedure does, after rolling it back.
    pub fn prepare<P: Procedure>(&self, name: &str, procedure: &P) -> Result<P::Output, Error> {
        let mut answer = Answer::Empty;
        self.inner.check_process()?;
        let lsn = self.inner.engine.on_prepared(|engine| engine.prepare(name, procedure, &mut answer))?;
        self.inner.force(lsn)?;
        answer.into_result()
    }

    /// Commits a prepared transaction, and returns when that is durable, whatever the configured durability: the
    /// coordinator can forget its decision then. A close that waits for transactions does not keep it from that.
    ///
    /// # Errors
    /// [`Error::NotPrepared`] when there is none of this name, durably: a coordinator that repeats a decision can
    /// ignore it. Others when the database has stopped; the transaction is then committed, or prepared after the
    /// next opening.
    pub fn commit_prepared(&self, name: &str) -> Result<(), Error> {
        self.end_prepared(name, true)
    }

    /// Rolls a prepared transaction back, and returns when that is durable, whatever the configured durability.
    ///
    /// # Errors
    /// As for [`Database::commit_prepared`].
    pub fn roll_back_prepared(&self, name: &str) -> Result<(), Error> {
        self.end_prepared(name, false)
    }

    fn end_prepared(&self, name: &str, commit: bool) -> Result<(), Error> {
        self.inner.check_process()?;
        match self.inner.engine.on_prepared(|engine| engine.end_prepared(name, commit)) {
            Ok(lsn) => self.inner.force(lsn),
            Err(error) => {
                if let (Error::NotPrepared { .. }, Some(engine)) = (&error, self.inner.engine.as_classic()) {
                    // Another thread may have ended it a moment ago.
                    self.inner.force(engine.log().appended())?;
                }
                Err(error)
            }
        }
    }

    /// The prepared transactions, in the order of their names. Empty on the partitioned engine, which has none. Of a
    /// database that has stopped, those that were prepared and not being ended when it stopped; the next opening lists
    /// those, and the ones whose end did not reach the log.
    pub fn prepared(&self) -> Vec<PreparedTransaction> {
        let list = |engine| self.inner.read_shared(engine, classic::Engine::prepared);
        self.inner.engine.as_classic().map(list).unwrap_or_default()
    }
}

impl AnyEngine {
    fn on_prepared(&self, work: impl FnOnce(&classic::Engine) -> Result<Lsn, Error>) -> Result<Lsn, Error> {
        let Some(engine) = self.as_classic() else {
            return Err(Error::Config(
                "only the classic engine prepares transactions; create the database with `architecture` classic".into(),
            ));
        };
        engine.health().refuse_nested()?;
        let _inside = engine.health().enter();
        work(engine)
    }
}
