"""The endpoints: one module for each interface that clients know, and the pages."""
