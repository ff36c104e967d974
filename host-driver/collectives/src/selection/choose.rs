// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of an algorithm.

use super::condition::Condition;
use super::entry::Entry;
use super::lists::Algorithms;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::collnet::operation::tree_operation;
use crate::collnet::routes::RoutesTaken;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::node::sharing::Sharing;
use crate::reduction::kind::ReduceKind;
use crate::reduction::{DataType, ReduceOp};

/// Inputs to the choice of an algorithm: the same for all members of a geometry.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The geometry.
    pub geometry: &'a Geometry,
    /// The collective.
    pub collective: Collective,
    /// Position of the root.
    pub root: usize,
    /// Bytes of a block or of the combined vector; `None` if not known to every member.
    pub bytes: Option<usize>,
    /// Alignment of the buffers at all members; 1 if unknown.
    pub alignment: usize,
    /// Reduction of the data.
    pub reduction: ReduceKind,
    /// Routes of the geometry: [`Member::routes`](crate::Member::routes).
    pub routes: RoutesTaken,
    /// Sharing of nodes by its endpoints: [`Member::sharing`](crate::Member::sharing).
    pub sharing: Sharing,
}
impl Condition {
    /// Whether the condition holds.
    #[must_use]
    pub fn holds(self, query: &Query<'_>) -> bool {
        let endpoints = query.geometry.endpoints().len();
        match self {
            Self::TasksPowerOfTwo => query.geometry.tasks().len().is_power_of_two(),
            Self::EndpointsPowerOfTwo => endpoints.is_power_of_two(),
            Self::EndpointsEven => endpoints.is_multiple_of(2),
            Self::EndpointsOdd => !endpoints.is_multiple_of(2),
            Self::WholeTorus => query.geometry.torus().is_some(),
            Self::RootEndpoints(least) => query.geometry.ranks_of(query.root).len() >= least,
            Self::NodesShared => query.geometry.shares_nodes(),
            Self::SharedMemory => query.sharing.some,
            Self::OneNode => query.sharing.all,
            Self::SeveralNodes => !query.sharing.all,
            Self::IntraNodeCombineAtMost(each) => {
                let fewer = (2 * query.sharing.most).saturating_sub(3).max(1);
                let most = each * query.geometry.tasks().len() / fewer;
                !query.sharing.some || Self::AtMost(most).holds(query)
            }
            Self::EqualBlocks => query.bytes.is_some(),
            Self::Commutative => query.reduction.is_commutative(),
            Self::ElementAtMost(most) => query.reduction.bytes() <= most,
            Self::AtLeast(least) => query.bytes.is_some_and(|bytes| bytes >= least),
            Self::AtLeastEach(least) => Self::AtLeast(least * endpoints).holds(query),
            Self::AtMost(most) => query.bytes.is_some_and(|bytes| bytes <= most),
            Self::MultipleOf(unit) => query.bytes.is_some_and(|b| b.is_multiple_of(unit)),
            Self::Aligned(bytes) => query.alignment.is_multiple_of(bytes),
            Self::ClassRoute => query.routes.class,
            Self::BarrierRoute => query.routes.barrier,
            Self::Window(most) => query.routes.window || Self::AtMost(most).holds(query),
            Self::TreeOperation => tree_operation(query.reduction).is_some(),
            Self::TreeNan => !matches!(
                query.reduction,
                ReduceKind::BuiltIn(DataType::F64, ReduceOp::Min | ReduceOp::Max)
            ),
        }
    }
}
impl Entry {
    /// Whether the algorithm is valid.
    #[must_use]
    pub fn is_valid(&self, query: &Query<'_>) -> bool {
        self.requires.iter().all(|c| c.holds(query))
    }

    /// Whether the algorithm is valid and its further conditions hold.
    #[must_use]
    pub fn check(&self, query: &Query<'_>) -> bool {
        self.is_valid(query) && self.when.iter().all(|c| c.holds(query))
    }
}
impl Algorithms {
    /// The algorithm to use: the named one, if valid; otherwise the first whose requirements and conditions hold.
    ///
    /// # Errors
    /// [`Error::Algorithm`].
    pub fn choose(&self, query: &Query<'_>, named: Option<Algorithm>) -> Result<Algorithm, Error> {
        let list = self.list(query.collective);
        let refuse = |algorithm: &str, reason: String| Error::Algorithm {
            collective: query.collective.name(),
            algorithm: algorithm.into(),
            reason,
        };
        let Some(named) = named else {
            let chosen = list.iter().find(|entry| entry.check(query));
            return chosen
                .map(|entry| entry.algorithm)
                .ok_or_else(|| refuse("of the list", "none is valid".into()));
        };
        let Some(entry) = list.iter().find(|entry| entry.algorithm == named) else {
            return Err(refuse(named.name(), "it is not in the list".into()));
        };
        match entry.requires.iter().find(|c| !c.holds(query)) {
            Some(condition) => Err(refuse(named.name(), format!("{condition} is needed"))),
            None => Ok(named),
        }
    }
}
