"""What whoever asks over HTTP gets to see: Burrow's answers, our own, and a page for people."""
