//! Arguments and outputs on their way: values for as long as they stay in one process, bytes when they leave it.
//!
//! Between two processes there are only bytes. But a cluster may be in one process, and then to encode a call, to
//! decode it to see where it goes, to decode it again to run it, and the same with its output, takes more instructions
//! than running it does. So the value itself is carried, by its type. It is encoded where it is written to a log or a
//! message, and decoded where bytes arrive.
//!
//! A value that cannot be encoded, which is a mistake of its type, becomes no bytes at all: who should read it says so.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::procedure::Procedure;

/// Room for the encoded form of most values, so that it does not have to grow.
const INITIAL_BYTES: usize = 256;

/// A value whose type is not known here.
trait ErasedValue: Any {
    fn encode(&self) -> Vec<u8>;
}

impl<T: Serialize + Any> ErasedValue for T {
    fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, Vec::with_capacity(INITIAL_BYTES)).unwrap_or_default()
    }
}

/// The arguments of a call: a procedure, or its encoded form.
#[derive(Clone)]
pub struct Arguments(Form<Arc<dyn SharedValue>>);

/// What a run answers, or its encoded form. A copy is of the encoded form.
pub struct Output(Form<Box<dyn SentValue>>);

#[derive(Clone)]
enum Form<V> {
    Value(V),
    /// As [postcard](https://docs.rs/postcard) encodes it.
    Bytes(Vec<u8>),
}

/// A value that several may have.
trait SharedValue: ErasedValue + Send + Sync {}
impl<T: ErasedValue + Send + Sync> SharedValue for T {}

/// A value that one has.
trait SentValue: ErasedValue + Send {}
impl<T: ErasedValue + Send> SentValue for T {}

/// A procedure that is here, or was decoded.
pub(super) enum ProcedureRef<'a, P> {
    Here(&'a P),
    Decoded(P),
}

impl<P> Deref for ProcedureRef<'_, P> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        match self {
            Self::Here(procedure) => procedure,
            Self::Decoded(procedure) => procedure,
        }
    }
}

impl Arguments {
    /// Those of this procedure.
    pub fn of<P: Procedure>(procedure: P) -> Self {
        Self(Form::Value(Arc::new(procedure)))
    }

    /// Their encoded form.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Form::Value(value) => Cow::Owned(ErasedValue::encode(&**value)),
            Form::Bytes(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// The procedure.
    #[inline]
    pub(super) fn read<P: Procedure>(&self) -> Result<ProcedureRef<'_, P>, String> {
        if let Form::Value(value) = &self.0
            && let Some(procedure) = (&**value as &dyn Any).downcast_ref()
        {
            return Ok(ProcedureRef::Here(procedure));
        }
        postcard::from_bytes(&self.bytes())
            .map(ProcedureRef::Decoded)
            .map_err(|error| format!("the arguments of procedure `{}` cannot be read: {error}", P::NAME))
    }
}

impl Output {
    /// This value.
    pub fn of<O: Serialize + Send + 'static>(value: O) -> Self {
        Self::boxed(Box::new(value))
    }

    /// The same, where it is.
    pub(super) fn boxed<O: Serialize + Send + 'static>(value: Box<O>) -> Self {
        Self(Form::Value(value))
    }

    /// Its encoded form.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Form::Value(value) => Cow::Owned(ErasedValue::encode(&**value)),
            Form::Bytes(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// When it is none of this type.
    #[inline]
    pub fn read<O: DeserializeOwned + 'static>(self) -> Result<O, postcard::Error> {
        self.read_or(|bad| bad)
    }

    /// The value, or what `otherwise` makes of the error: the value is large, and moved once only.
    ///
    /// # Errors
    /// As [`Output::read`].
    #[inline]
    pub fn read_or<O: DeserializeOwned + 'static, E>(
        self,
        otherwise: impl FnOnce(postcard::Error) -> E,
    ) -> Result<O, E> {
        match self.0 {
            Form::Value(value) if (&*value as &dyn Any).is::<O>() => {
                let value: Box<dyn Any> = value;
                Ok(*value.downcast().expect("it was asked a moment ago"))
            }
            _ => postcard::from_bytes(&self.bytes()).map_err(otherwise),
        }
    }
}

impl Clone for Output {
    fn clone(&self) -> Self {
        self.bytes().into_owned().into()
    }
}

impl From<Vec<u8>> for Arguments {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Form::Bytes(bytes))
    }
}

impl From<Vec<u8>> for Output {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Form::Bytes(bytes))
    }
}

/// Both are, to all but those who know the type, their bytes.
macro_rules! as_bytes {
    ($($name:ident),*) => {$(
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.bytes() == other.bytes()
            }
        }

        impl Eq for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.bytes().fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.bytes())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_byte_buf(BytesVisitor).map(Self::from)
            }
        }
    )*};
}

as_bytes!(Arguments, Output);

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedure::{Stop, Transaction};

    #[derive(Clone, Serialize, Deserialize, Debug, PartialEq)]
    struct Add(u32, String);

    impl Procedure for Add {
        const NAME: &'static str = "add";
        type Output = u32;

        fn run<T: Transaction>(&self, _tx: &mut T) -> Result<u32, Stop> {
            Ok(self.0)
        }
    }

    /// Has a form that cannot be read as the other.
    #[derive(Serialize, Deserialize)]
    struct Other(u8);

    impl Procedure for Other {
        const NAME: &'static str = "other";
        type Output = u8;

        fn run<T: Transaction>(&self, _tx: &mut T) -> Result<u8, Stop> {
            Ok(self.0)
        }
    }

    #[test]
    fn a_value_is_its_bytes_to_those_who_do_not_know_it() {
        let (add, bytes) = (Add(700, "ab".to_owned()), vec![0xbc, 0x05, 2, b'a', b'b']);
        let (value, encoded) = (Arguments::of(add.clone()), Arguments::from(bytes.clone()));
        assert_eq!((&value, value.bytes().as_ref()), (&encoded, &bytes[..]));
        assert_eq!(format!("{value:?}"), format!("{bytes:?}"));
        for arguments in [&value, &value.clone(), &encoded] {
            assert_eq!(*arguments.read::<Add>().unwrap(), add);
            // On the wire they are what a `Vec<u8>` is.
            let wire = postcard::to_allocvec(arguments).unwrap();
            assert_eq!(wire, postcard::to_allocvec(&bytes).unwrap());
            assert_eq!(postcard::from_bytes::<Arguments>(&wire).unwrap(), encoded);
        }
        assert!(matches!(value.read::<Add>(), Ok(ProcedureRef::Here(_))));
        assert!(Arguments::of(Other(3)).read::<Add>().is_err_and(|why| why.contains("`add` cannot be read")));
    }

    #[test]
    fn an_output_is_given_as_it_is_or_decoded() {
        let output = Output::of(700_u32);
        assert_eq!((output.clone(), output.clone().read::<u32>()), (Output::from(vec![0xbc, 0x05]), Ok(700)));
        assert_eq!(output.read::<u32>(), Ok(700));
        assert!(Output::from(Vec::new()).read::<u32>().is_err());
        assert!(Output::of(String::new()).read::<(u8, u8)>().is_err());
    }
}
