"""The endpoints of each interface that clients already use, and the pages for people."""
