"""Estimates by formula what training takes, on hardware that need not be here."""
