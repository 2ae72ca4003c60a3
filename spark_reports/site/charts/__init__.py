"""What is drawn: figures in, places in a picture out. Templates turn those into SVG."""
