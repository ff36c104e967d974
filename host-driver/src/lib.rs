//! The messaging driver: clients, contexts, endpoints and protocols over any bus.
