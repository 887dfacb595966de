"""The hardware that trains: devices, machines, compiled programs, cost."""
