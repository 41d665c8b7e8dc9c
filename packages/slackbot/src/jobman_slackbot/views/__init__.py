"""What people see: pure, from the core's views to blocks of Slack."""
