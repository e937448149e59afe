"""What a classifier of images looks at."""
