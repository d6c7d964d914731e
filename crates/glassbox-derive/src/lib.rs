//! The `Record` macro.
use proc_macro::TokenStream;
/// Derives a record.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}
