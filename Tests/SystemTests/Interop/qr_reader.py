"""Reads a QR code (ISO/IEC 18004, versions 1 to 9, level M) from the half blocks in a terminal.

Every module is exact, so nothing has to be corrected.
"""

MASKS = [
    lambda r, c: (r + c) % 2 == 0,
    lambda r, c: r % 2 == 0,
    lambda r, c: c % 3 == 0,
    lambda r, c: (r + c) % 3 == 0,
    lambda r, c: (r // 2 + c // 3) % 2 == 0,
    lambda r, c: r * c % 2 + r * c % 3 == 0,
    lambda r, c: (r * c % 2 + r * c % 3) % 2 == 0,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2 == 0,
]
# By version: data codewords of each block, and where alignment patterns have their centres.
BLOCKS = {
    1: [16], 2: [28], 3: [44], 4: [32] * 2, 5: [43] * 2, 6: [27] * 4, 7: [31] * 4,
    8: [38] * 2 + [39] * 2, 9: [36] * 3 + [37] * 2,
}
CENTRES = {
    1: [], 2: [6, 18], 3: [6, 22], 4: [6, 26], 5: [6, 30], 6: [6, 34], 7: [6, 22, 38],
    8: [6, 24, 42], 9: [6, 26, 46],
}
ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
HALVES = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}


def modules(text: str) -> list[list[int]]:
    """Rows of modules, 1 for dark, without the quiet zone."""
    lines = [line for line in text.splitlines() if line.startswith("████")]
    rows = []
    for line in lines:
        halves = [HALVES[character] for character in line]
        rows += [[half[0] for half in halves], [half[1] for half in halves]]
    side = len(rows[0]) - 8
    assert not any(map(any, rows[:4])), "the quiet zone is not light"
    return [row[4:4 + side] for row in rows[4:4 + side]]


def functions(side: int, version: int) -> set[tuple[int, int]]:
    """The modules that hold no data."""
    taken = {(6, i) for i in range(side)} | {(i, 6) for i in range(side)}
    for row, column in ((0, 0), (0, side - 8), (side - 8, 0)):
        height = 9 if row == 0 else 8
        width = 9 if column == 0 else 8
        taken |= {(row + r, column + c) for r in range(height) for c in range(width)}
    centres = CENTRES[version]
    corners = {(6, 6), (6, centres[-1]), (centres[-1], 6)} if centres else set()
    for centre in {(r, c) for r in centres for c in centres} - corners:
        taken |= {(centre[0] + r, centre[1] + c) for r in range(-2, 3) for c in range(-2, 3)}
    if version >= 7:
        taken |= {(r, side - 11 + c) for r in range(6) for c in range(3)}
        taken |= {(side - 11 + c, r) for r in range(6) for c in range(3)}
    return taken


def codewords(grid: list[list[int]], version: int) -> bytes:
    side = len(grid)
    places = [(8, c) for c in (0, 1, 2, 3, 4, 5, 7, 8)] + [(r, 8) for r in (7, 5, 4, 3, 2, 1, 0)]
    form = int("".join(str(grid[r][c]) for r, c in places), 2) ^ 0x5412
    assert form >> 13 == 0, "the level is not M"
    mask = MASKS[form >> 10 & 7]
    taken = functions(side, version)
    bits = []
    columns = [c for c in range(side - 1, -1, -2) if c > 6] + [5, 3, 1]
    for turn, right in enumerate(columns):
        rows = range(side) if turn % 2 else range(side - 1, -1, -1)
        for r in rows:
            for c in (right, right - 1):
                if (r, c) not in taken:
                    bits.append(grid[r][c] ^ mask(r, c))
    count = sum(BLOCKS[version])
    return bytes(int("".join(map(str, bits[8 * i:8 * i + 8])), 2) for i in range(count))


def read_qr(text: str) -> str:
    """What the code in the text says."""
    grid = modules(text)
    version = (len(grid) - 17) // 4
    mixed = codewords(grid, version)
    blocks: list[list[int]] = [[] for _ in BLOCKS[version]]
    source = iter(mixed)
    for index in range(max(BLOCKS[version])):
        for block, length in zip(blocks, BLOCKS[version]):
            if index < length:
                block.append(next(source))
    bits = "".join(f"{byte:08b}" for block in blocks for byte in block)
    position = 0

    def take(count: int) -> int:
        nonlocal position
        position += count
        return int(bits[position - count:position], 2)

    said = b""
    while len(bits) - position >= 4 and (mode := take(4)):
        if mode == 4:
            said += bytes(take(8) for _ in range(take(8)))
        elif mode == 2:
            for left in range(take(9), 0, -2):
                pair = take(11) if left > 1 else take(6)
                text = ALPHANUMERIC[pair % 45]
                said += (ALPHANUMERIC[pair // 45] + text if left > 1 else text).encode()
        elif mode == 1:
            for left in range(take(10), 0, -3):
                digits = min(left, 3)
                said += f"{take((4, 7, 10)[digits - 1]):0{digits}}".encode()
        else:
            raise AssertionError(f"mode {mode} is not read here")
    return said.decode()
