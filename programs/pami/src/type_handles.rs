// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles of types.

use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use crate::abi;
use crate::elements::Element;
use crate::failure::Failure;
use crate::handles::Handles;
use crate::types::{Layout, Type};

/// All types that the program has made.
pub static TYPES: Handles<Made> = Handles::new("type", 0x4000_0000);

/// The predefined types, in the order of their handles, which begin with 1.
static PREDEFINED: LazyLock<Vec<Arc<Type>>> =
    LazyLock::new(|| Element::all().map(Type::of).map(Arc::new).collect());

/// A type of the program, open or complete.
pub struct Made(Mutex<State>);

enum State {
    Open(Layout),
    Complete(Arc<Type>),
}

impl Made {
    /// A type without blocks.
    pub fn new() -> Self {
        Self(Mutex::new(State::Open(Layout::EMPTY)))
    }

    /// A complete type.
    pub fn complete(of: Type) -> Self {
        Self(Mutex::new(State::Complete(Arc::new(of))))
    }

    /// Changes the type.
    ///
    /// # Errors
    /// `PAMI_INVAL` when it is complete, and what `change` refuses.
    pub fn change(
        &self,
        change: impl FnOnce(&mut Layout) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match &mut *self.0.lock() {
            State::Open(layout) => change(layout),
            State::Complete(_) => Err(Failure::invalid("the type is complete")),
        }
    }

    /// Completes it.
    ///
    /// # Errors
    /// `PAMI_INVAL` when it is complete, and for an atom size that does not fit.
    pub fn finish(&self, atom: usize) -> Result<(), Failure> {
        let mut state = self.0.lock();
        match &*state {
            State::Open(layout) => {
                let type_ = Type::new(layout.clone(), atom)?;
                *state = State::Complete(Arc::new(type_));
                Ok(())
            }
            State::Complete(_) => Err(Failure::invalid("the type is complete")),
        }
    }
}

/// The open type of a handle.
///
/// # Errors
/// `PAMI_INVAL` for a predefined type, and for an invalid handle.
pub fn made(handle: abi::Type) -> Result<Arc<Made>, Failure> {
    if Element::of(handle as usize).is_some() {
        return Err(Failure::invalid("the type is predefined"));
    }
    TYPES.get(handle)
}

/// The predefined type of an element.
pub fn predefined(element: Element) -> Arc<Type> {
    Arc::clone(&PREDEFINED[element.number() - 1])
}

/// The complete type of a handle.
///
/// # Errors
/// `PAMI_INVAL` when it is not complete, and for an invalid handle.
pub fn complete(handle: abi::Type) -> Result<Arc<Type>, Failure> {
    if let Some(element) = Element::of(handle as usize) {
        return Ok(predefined(element));
    }
    match &*TYPES.get(handle)?.0.lock() {
        State::Complete(complete) => Ok(Arc::clone(complete)),
        State::Open(_) => Err(Failure::invalid("the type is not complete")),
    }
}
