"""The simulated model and the toy task set behind `honed demo`."""
