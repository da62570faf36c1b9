"""Whether a change of a skill, by whomever, lowers its score: for continuous integration."""
