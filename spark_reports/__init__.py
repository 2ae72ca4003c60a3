"""Evidence of any size judged by Spark, and what it says every morning."""
