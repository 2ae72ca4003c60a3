"""Property tests: the same examples every time, and no clock, because a test that fails on a busy machine says nothing."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
