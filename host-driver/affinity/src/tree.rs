// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rooted trees of software threads.

/// Invalid arguments for a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// No threads.
    #[error("a tree of 0 threads, expected at least 1")]
    Empty,
    /// No children allowed.
    #[error("a tree of arity 0, expected at least 1")]
    Arity,
}

/// A rooted tree of the software threads `0..len`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    root: usize,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
}

impl Tree {
    /// The n-ary tree of threads `0..count` by number, rooted at 0, without regard to affinity.
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn by_number(count: usize, arity: usize) -> Result<Self, TreeError> {
        if count == 0 {
            return Err(TreeError::Empty);
        }
        let members: Vec<usize> = (0..count).collect();
        let mut tree = Self::alone(count, 0);
        tree.join(&members, arity)?;
        Ok(tree)
    }

    /// `count` threads without edges.
    pub(crate) fn alone(count: usize, root: usize) -> Self {
        Self {
            root,
            parents: vec![None; count],
            children: vec![Vec::new(); count],
        }
    }

    /// Adds the n-ary tree of `members`: member `i` is the parent of members `n i + 1` to `n i + n`.
    pub(crate) fn join(&mut self, members: &[usize], arity: usize) -> Result<(), TreeError> {
        if arity == 0 {
            return Err(TreeError::Arity);
        }
        for (i, &child) in members.iter().enumerate().skip(1) {
            let parent = members[(i - 1) / arity];
            self.parents[child] = Some(parent);
            self.children[parent].push(child);
        }
        Ok(())
    }

    /// Number of threads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there are no threads; always false.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The thread without a parent.
    #[must_use]
    pub fn root(&self) -> usize {
        self.root
    }

    /// Parent of `thread`; `None` for the root.
    ///
    /// # Panics
    /// If `thread` is out of range.
    #[must_use]
    pub fn parent(&self, thread: usize) -> Option<usize> {
        self.parents[thread]
    }

    /// Children of `thread`, in the order of combination.
    ///
    /// # Panics
    /// If `thread` is out of range.
    #[must_use]
    pub fn children(&self, thread: usize) -> &[usize] {
        &self.children[thread]
    }

    /// Whether `thread` is `below` or an ancestor of it.
    ///
    /// # Panics
    /// If `below` is out of range.
    #[must_use]
    pub fn is_above(&self, thread: usize, below: usize) -> bool {
        let mut at = Some(below);
        while let Some(number) = at {
            if number == thread {
                return true;
            }
            at = self.parents[number];
        }
        false
    }
}
