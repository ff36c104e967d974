//! What the driver notes, as timelines have it.

use gyre_driver::{Endpoint, Note};
use gyre_timeline::{Context, Note as Recorded};

fn context(endpoint: Endpoint) -> Context {
    Context {
        task: endpoint.task().0,
        client: endpoint.client(),
        offset: endpoint.context_offset(),
    }
}

/// The record of a note.
pub(super) fn recorded(note: Note) -> Recorded {
    match note {
        Note::Posted { at } => Recorded::Posted { at: context(at) },
        Note::Started { at } => Recorded::Started { at: context(at) },
        Note::Injecting { at } => Recorded::Injecting { at: context(at) },
        Note::Withdrawn { at, id } => Recorded::Withdrawn {
            at: context(at),
            id,
        },
        Note::Message {
            at,
            to,
            id,
            tag,
            bytes,
        } => Recorded::Message {
            at: context(at),
            to: context(to),
            id,
            tag,
            bytes,
        },
        Note::Put {
            at,
            to,
            id,
            word,
            bytes,
        } => Recorded::Put {
            at: context(at),
            to: context(to),
            id,
            word,
            bytes,
        },
        Note::Asked {
            at,
            from,
            id,
            word,
            bytes,
            cookie,
            program,
        } => Recorded::Asked {
            at: context(at),
            from: context(from),
            id,
            word,
            bytes,
            cookie,
            program,
        },
        Note::Sent {
            at,
            to,
            id,
            dispatch,
            word,
            tag,
        } => Recorded::Sent {
            at: context(at),
            to: context(to),
            id,
            dispatch,
            word,
            tag,
        },
        Note::Packet {
            at,
            from,
            dispatch,
            tag,
            first,
            last,
        } => Recorded::Packet {
            at: context(at),
            from: context(from),
            dispatch,
            tag,
            first,
            last,
        },
        Note::Handled { at } => Recorded::Handled { at: context(at) },
        Note::Announced { at, from, cookie } => Recorded::Announced {
            at: context(at),
            from: context(from),
            cookie,
        },
        Note::Fetched { at, from, cookie } => Recorded::Fetched {
            at: context(at),
            from: context(from),
            cookie,
        },
        Note::Unexpected { at, number } => Recorded::Unexpected {
            at: context(at),
            number,
        },
        Note::Matched { at, request } => Recorded::Matched {
            at: context(at),
            request,
        },
        Note::Paired {
            at,
            number,
            request,
        } => Recorded::Paired {
            at: context(at),
            number,
            request,
        },
        Note::Finished { at, request } => Recorded::Finished {
            at: context(at),
            request,
        },
        Note::Acknowledged { at, cookie } => Recorded::Acknowledged {
            at: context(at),
            cookie,
        },
    }
}
