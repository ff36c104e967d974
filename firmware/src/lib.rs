//! Node bring-up, configuration, self-test and interrupt service through a register-access trait.
