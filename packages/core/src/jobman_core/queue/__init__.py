"""Task queues: the policy, the service over a store, the state file that people read."""
