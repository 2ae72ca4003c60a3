"""What is wrong with a dashboard: panels without data, and panels whose number is not what it says."""
