"""One module per kind of chart; each turns figures into SVG and knows nothing of files."""
