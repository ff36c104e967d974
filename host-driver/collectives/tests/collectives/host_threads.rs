// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members of a geometry and their callbacks between host threads (EP-3, EP-13).

use gyre_collectives::{Collectives, Done, Follow, FollowFn, Member};
use gyre_driver::Platform;
use gyre_testkit::Process;

fn travels<T: Send>() {}
fn is_shared<T: Send + Sync>() {}

/// Does not compile for any platform where it does not hold for all.
fn members_are_shared_and_callbacks_travel<P: Platform>() {
    is_shared::<Collectives<P>>();
    is_shared::<Member<P>>();
    travels::<Done<P>>();
    travels::<Follow<P>>();
    travels::<FollowFn<P>>();
}

#[test]
fn ep3_ep13_members_are_sync_and_callbacks_are_send() {
    members_are_shared_and_callbacks_travel::<Process>();
}
