"""The hostile suite: attacks on every promise of docs/safety.md, on real parts; `make test-hostile`."""
