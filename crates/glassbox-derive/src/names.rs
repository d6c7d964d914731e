//! Names made from names: table names from structs, index types from indexes, and lists of names for messages.

/// `OrderLine` gives `order_line`; `HTTPLog` gives `http_log`.
pub fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_lower = at > 0 && !letters[at - 1].is_uppercase() && letters[at - 1] != '_';
        let ends_acronym =
            at > 0 && letters[at - 1].is_uppercase() && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (after_lower || ends_acronym) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// `by_name` gives `ByName`.
pub fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    name.split('_').map(capital).collect()
}

/// `` `a`, `b`, `c` ``
pub fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_splits_words_and_acronyms() {
        assert_eq!(snake_case("District"), "district");
        assert_eq!(snake_case("OrderLine"), "order_line");
        assert_eq!(snake_case("HTTPLog"), "http_log");
        assert_eq!(snake_case("Item2Tag"), "item2_tag");
        assert_eq!(snake_case("Odd_Name"), "odd_name");
    }

    #[test]
    fn camel_case_joins_words() {
        assert_eq!(camel_case("by_name"), "ByName");
        assert_eq!(camel_case("recent"), "Recent");
    }
}
