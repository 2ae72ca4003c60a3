"""Which partition of a coordinator's topic is responsible for an id: as the brokers compute it. Pure."""

TRANSACTION_STATE = "__transaction_state"


def partition_of(key: str, partitions: int) -> int:
    """Java's hash of the id, without its sign, modulo the partitions. The one number that has no positive counts as 0."""
    code = java_hash(key)
    return (0 if code == -(1 << 31) else abs(code)) % partitions


def java_hash(text: str) -> int:
    """String.hashCode(): over UTF-16 code units, in 32 bits with a sign."""
    code, units = 0, text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code - (1 << 32) if code >= 1 << 31 else code
