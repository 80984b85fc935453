"""What the command line is made of: files in and out, the Spark session, messages, the demo."""
