"""Runs torch; decides nothing."""
