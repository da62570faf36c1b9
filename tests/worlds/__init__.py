"""Simulated worlds with known truth, driven through the real optimizer code.

A world says with which probability each task passes under a skill; the simulated agent and the simulated optimizer
model never look at the configuration: what a switch of the method does, it does through prompts and decisions alone.
"""
