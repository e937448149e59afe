"""What training takes, by formula, on hardware one need not have."""
