"""Where the facts come from: the admin calls and the topic of commits."""
