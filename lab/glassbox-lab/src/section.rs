//! Sections of a report: the figures, tables and notes of one experiment.

/// The section of one experiment.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its anchor in the page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The question that it answers; may be empty.
    pub question: &'static str,
    /// Whether it supplements another section: it is not at the front of a page of several.
    pub is_supplement: bool,
    /// The answer, in a few sentences.
    pub lead: String,
    /// How the title of the figure begins that shows the answer; if it is empty, the first figure does.
    pub answered_by: &'static str,
    /// The terms of its figures and tables, and their meanings.
    pub terms: &'static [(&'static str, &'static str)],
    /// How many claims are reproduced and how many are not, for the table of contents; may be empty.
    pub outcomes: String,
    /// Machine, commit, configuration.
    pub facts: Vec<(String, String)>,
    /// The title of the notes.
    pub notes_title: String,
    /// Sentences about the results.
    pub notes: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A figure, a table, or both.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// The drawing; may be empty.
    pub svg: String,
    /// Its caption.
    pub caption: String,
    /// Its numbers.
    pub table: Option<Table>,
}

/// A table, whose first column is names.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The titles of the columns.
    pub header: Vec<String>,
    /// The rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    /// A table without a drawing.
    pub fn of_table(title: impl Into<String>, caption: impl Into<String>, table: Table) -> Self {
        Self { title: title.into(), svg: String::new(), caption: caption.into(), table: Some(table) }
    }
}

impl Table {
    /// Whether there are long names or sentences, so that all cells are broken into lines.
    pub(crate) fn has_long_cells(&self) -> bool {
        self.rows.iter().flatten().any(|cell| cell.chars().count() > 40)
    }

    /// A table with these titles of columns.
    pub fn new(header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self { header: header.iter().map(|title| (*title).to_owned()).collect(), rows }
    }
}
