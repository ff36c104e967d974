//! Bit layout of packets, descriptors and links, shared between RTL and software.
