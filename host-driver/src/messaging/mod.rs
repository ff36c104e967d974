//! The application messaging module: sends and receives that are paired by match data (CT-1, CT-8).
