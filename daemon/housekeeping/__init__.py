"""Housekeeping: what honed leaves on the disk stays bounded, however long it runs; and whether the disk has room."""
