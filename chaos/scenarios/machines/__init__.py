"""What becomes of a cluster whose disks and clocks fail, each trouble as a trial."""

from types import ModuleType

from chaos.scenarios.machines import clock_skew, disk_full, disk_unwritable, log_dir_failure, segment_damage, slow_disk

MACHINES: tuple[ModuleType, ...] = (disk_full, disk_unwritable, log_dir_failure, segment_damage, slow_disk, clock_skew)
