"""`make soak`: thousands of simulated attempts through a real daemon while everything around it fails and changes."""
