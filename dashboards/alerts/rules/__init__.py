"""What is alerted on: a file for each kind of trouble."""
