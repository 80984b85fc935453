"""What each kind of pattern tells of its plans."""
