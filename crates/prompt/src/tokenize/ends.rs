//! Where tokens end: a list, or a rule where every token has the same length.

/// For each token the byte of the text at which it ends, never falling.
///
/// Made from a list with [`From`]. A tokenizer whose tokens all have the same
/// length need not store where each of them ends: that would take more memory than the text.
#[derive(Clone, Debug, Default)]
pub struct Ends(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Listed(Vec<usize>),
    /// So many tokens of so many bytes.
    Even {
        count: usize,
        bytes: usize,
    },
}

impl Ends {
    /// The ends of `count` tokens of `bytes` bytes each, from the start of the text on.
    pub fn even(count: usize, bytes: usize) -> Self {
        Self(Kind::Even { count, bytes })
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Listed(ends) => ends.len(),
            Kind::Even { count, .. } => *count,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the token at `index` ends.
    pub fn get(&self, index: usize) -> Option<usize> {
        match &self.0 {
            Kind::Listed(ends) => ends.get(index).copied(),
            Kind::Even { count, bytes } => (index < *count).then(|| (index + 1) * bytes),
        }
    }

    /// Where the last token ends.
    pub fn last(&self) -> Option<usize> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// How many are at or before `byte`.
    pub fn before(&self, byte: usize) -> usize {
        match &self.0 {
            Kind::Listed(ends) => ends.partition_point(|end| *end <= byte),
            Kind::Even { count, bytes } => byte
                .checked_div(*bytes)
                .map_or(*count, |tokens| tokens.min(*count)),
        }
    }

    /// Keeps the first `count`.
    pub fn truncate(&mut self, count: usize) {
        match &mut self.0 {
            Kind::Listed(ends) => ends.truncate(count),
            Kind::Even { count: all, .. } => *all = count.min(*all),
        }
    }

    /// Adds tokens that end at `end`, or takes some away, until there are `count`.
    pub fn resize(&mut self, count: usize, end: usize) {
        self.change(|ends| ends.resize(count, end));
    }

    /// Changes the list, and makes one where there was a rule.
    fn change(&mut self, change: impl FnOnce(&mut Vec<usize>)) {
        let mut ends = match std::mem::take(&mut self.0) {
            Kind::Listed(ends) => ends,
            even @ Kind::Even { .. } => Self(even).iter().collect(),
        };
        change(&mut ends);
        self.0 = Kind::Listed(ends);
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl From<Vec<usize>> for Ends {
    fn from(ends: Vec<usize>) -> Self {
        Self(Kind::Listed(ends))
    }
}

impl Extend<usize> for Ends {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, more: I) {
        self.change(|ends| ends.extend(more));
    }
}

impl PartialEq for Ends {
    /// By what they say, not by how they are stored.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Ends {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_what_its_list_says() {
        for (count, bytes) in [(0, 4), (1, 4), (5, 4), (3, 1)] {
            let even = Ends::even(count, bytes);
            let list: Vec<usize> = (1..=count).map(|token| token * bytes).collect();
            let listed = Ends::from(list.clone());
            assert_eq!(even, listed);
            assert_eq!(
                even.iter().rev().collect::<Vec<_>>(),
                list.iter().rev().copied().collect::<Vec<_>>()
            );
            assert_eq!((even.len(), even.last()), (listed.len(), listed.last()));
            for byte in 0..30 {
                assert_eq!(
                    even.before(byte),
                    listed.before(byte),
                    "{count} × {bytes}, {byte}"
                );
            }
            let mut longer = even.clone();
            longer.extend([99]);
            longer.resize(count + 2, 100);
            assert_eq!(
                longer.iter().collect::<Vec<_>>(),
                [list, vec![99, 100]].concat()
            );
            longer.truncate(count);
            assert_eq!(longer, even);
        }
    }
}
