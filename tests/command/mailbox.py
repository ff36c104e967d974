# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts malformed and hostile messages into the mailbox of its task: random ones for a number, certain ones for a word."""
import mmap
import os
import random
import sys

NUMBERS = [0, 1, 2, 7, 8, 63, 64, 127, 128, 255, 4096, 65535, 65536, 65537, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32,
           1 << 36, 1 << 40, 1 << 45, (1 << 47) - 4096, 1 << 47, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096,
           (1 << 64) - 1, 0x100008, 0x100020, 0x48]


def number(value):
    """A number as the messages have it: 7 bits a byte."""
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def u64():
    return number(random.choice(NUMBERS) if random.random() < 0.8 else random.getrandbits(random.randrange(1, 65)))


def u32():
    return number(random.choice(NUMBERS) & 0xFFFFFFFF)


def u8():
    return bytes([random.choice([0, 1, 2, 3, 15, 16, 31, 32, 63, 64, 127, 255])])


def maybe():
    return b"\0" if random.random() < 0.3 else b"\1" + u64()


def text():
    length = random.randrange(200)
    return number(length) + bytes(random.randrange(32, 127) for _ in range(length))


# Requests in the order of the protocol, with their fields.
REQUESTS = [("Describe", []), ("Flush", []), ("ReadRegister", [u64]), ("WriteRegister", [u64, u64]),
            ("Allocate", [u64, u64]), ("Map", [u64, u64]), ("Sleep", [u64]), ("Arrive", []), ("HaveArrived", []),
            ("Share", [u32, u64]), ("Free", [u64]), ("ReadBuffer", [u64, u64, u64]), ("WriteBuffer", [u64, u64, u64]),
            ("WriteInline", [u64, u64, text]), ("Now", []), ("Look", [u64]), ("Note", [u8] + 8 * [u32]),
            ("Charge", [u8, u64]), ("Compute", [u64]), ("Poll", [u64]), ("Wait", [u8, maybe]), ("Notify", [u8]), ("Yield", []),
            ("Lock", [u64]), ("TryLock", [u64]), ("Unlock", [u64]), ("Park", [maybe]), ("Unpark", [u32]),
            ("StartThread", []), ("DropThread", [u32]), ("Misuse", [text])]
NAMES = [name for name, _ in REQUESTS]


def request(name, fields=b""):
    return number(NAMES.index(name)) + fields


LAST = b"\1" + number((1 << 64) - 1)
CERTAIN = {
    "drop": [[request("DropThread", number(0))]],
    "sleep": [[request("Sleep", number((1 << 64) - 1))]],
    "wait": [[request("Wait", b"\1" + LAST)]],
    "park": [[request("Park", LAST)]],
    "charge": 4000 * [63 * [request("Charge", b"\0" + number((1 << 32) - 1))] + [request("Now")]],
}


def any_request():
    name, fields = random.choice(REQUESTS)
    return request(name, b"".join(field() for field in fields))


def main(how):
    if how in CERTAIN:
        messages = CERTAIN[how]
    else:
        random.seed(int(how))
        messages = [[any_request() for _ in range(random.choice([1, 1, 1, 2, 5]))] for _ in range(6)]
        messages.append([request("Misuse", text())])
    memory, sequence = mmap.mmap(190, 0), 0
    for requests in messages:
        message = number(len(requests)) + b"".join(requests)
        sequence += 1
        memory[16:24] = len(message).to_bytes(8, "little")
        memory[64:64 + len(message)] = message
        memory[8:16] = sequence.to_bytes(8, "little")
        os.write(191, b"\0")
        if not os.read(191, 1):
            break
        sequence = int.from_bytes(memory[8:16], "little")
    os._exit(1)


main(sys.argv[1])
