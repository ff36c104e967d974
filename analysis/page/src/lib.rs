// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of the machine as a page that a browser shows: one file, which loads nothing.
//!
//! * [`html`] makes the file of a [`Page`]: what a command has run, its figures or its failure, and the events of its
//!   machines with their messages and what is found about them.
//! * What the page shows is in `assets/`: scripts without a framework, which draw on canvases.
//! * The data are columns of whole numbers behind a head in JSON, deflated, in base64 (`columns`, `head`).
//!
//! The bytes are a function of what is shown alone.

#![forbid(unsafe_code)]

mod columns;
mod failure;
mod head;
mod html;
mod messages;
mod page;
mod run;

pub use failure::{Failure, Wait};
pub use html::html;
pub use page::{Page, Run};
