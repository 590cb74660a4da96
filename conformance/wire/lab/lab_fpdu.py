# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Whether the FPDUs of one side start and end with TCP segments, from a capture of Ethernet frames.

For each connection the stream is parsed: the MPA Request or Reply, then one FPDU after another
by its length. An FPDU is cut if a TCP segment ends inside it and another one goes on. Not judged
are retransmitted segments, streams with markers, and streams that are not MPA. Nor is a segment
that fills the peer's window to the last octet: TCP itself sends such a segment to probe the
window if it was too small for a whole segment for some 200 ms. Nor is a segment with SACK
blocks, whose size the sender could not foresee.
"""

import collections
import dataclasses
import socket
import struct

KEY = b'MPA ID '                # of a Request and of a Reply
FRAME_HEADER = 20               # octets of a Request or Reply before its private data
MARKERS = 0x80                  # of the flags at octet 16
SYN, ACK = 0x02, 0x10
MSS, SCALE, SACK = 2, 3, 5      # options of TCP
MESSAGE = 65536                 # octets of a message to the socket, at most
EDGES = 8                       # a probe may leave while a new window is on its way
ETHERNET, IPV4, IPV6, TCP = 14, 0x0800, 0x86dd, 6
HEADERS = {IPV4: 40, IPV6: 60}  # octets of a packet that are no segment, without options


@dataclasses.dataclass
class Segment:
    """One TCP segment: who sent it to whom, and what it carries."""
    flow: tuple
    kind: int
    sequence: int
    acknowledged: int
    flags: int
    window: int             # as in the header
    options: bytes
    octets: bytes


def frames(path):
    """The records of a pcap file, each as (its header, the Ethernet frame); one that is cut short ends it."""
    with open(path, 'rb') as file:
        header = file.read(24)
        order = '<' if header[:4] == b'\xd4\xc3\xb2\xa1' else '>'
        while len(record := file.read(16)) == 16:
            octets = file.read(struct.unpack(order + 'I', record[8:12])[0])
            yield record, octets


def segment_of(frame):
    """The TCP segment in a frame, if there is one."""
    kind = int.from_bytes(frame[12:14], 'big')
    packet = frame[ETHERNET:]
    if kind == IPV4 and len(packet) >= 20:
        header, protocol, source, target = (packet[0] & 15) * 4, packet[9], packet[12:16], packet[16:20]
        end = int.from_bytes(packet[2:4], 'big')
    elif kind == IPV6 and len(packet) >= 40:
        header, protocol, source, target = 40, packet[6], packet[8:24], packet[24:40]
        end = 40 + int.from_bytes(packet[4:6], 'big')
    else:
        return None
    if protocol != TCP:
        return None
    tcp = packet[header:end]
    data = (tcp[12] >> 4) * 4
    sequence, acknowledged, _, flags, window = struct.unpack('>IIBBH', tcp[4:16])
    return Segment((source, tcp[0:2], target, tcp[2:4]), kind, sequence, acknowledged, flags, window, tcp[20:data],
                   tcp[data:])


def option_of(segment, kind, otherwise):
    """The number in that option of TCP."""
    at = 0
    while at + 1 < len(segment.options) and segment.options[at] != 0:
        length = 1 if segment.options[at] == 1 else max(2, segment.options[at + 1])
        if segment.options[at] == kind:
            return int.from_bytes(segment.options[at + 2:at + length], 'big')
        at += length
    return otherwise


class Stream:
    """The octets that one side sends on one connection."""

    def __init__(self, syn):
        self.mtu = option_of(syn, MSS, 0) + HEADERS[syn.kind]
        self.next = (syn.sequence + 1) & 0xffffffff
        self.waiting = b''          # octets of a unit that is not whole yet
        self.started = False        # the Request or Reply has passed
        self.judged = True
        self.edges = collections.deque(maxlen=EDGES)    # where the peer's window ended
        self.excused = 0            # octets to come that may be out of line: a segment ended there, or had less room than the MSS says
        self.begun = self.next
        self.places = []            # what is said of each cut
        self.cuts = []              # octet of the stream of each
        self.fpdus = self.cut = 0

    def unit(self):
        """The length of the Request, Reply or FPDU at the beginning of `waiting`; None if that is
        not known yet."""
        if self.started:
            if len(self.waiting) < 2:
                return None
            length = 2 + int.from_bytes(self.waiting[:2], 'big')
            return length + -length % 4 + 4
        if len(self.waiting) < FRAME_HEADER:
            return None
        if not self.waiting.startswith(KEY) or self.waiting[16] & MARKERS:
            self.judged = False
        return FRAME_HEADER + int.from_bytes(self.waiting[18:20], 'big')

    def take(self, segment):
        """Parses the octets of a segment that are new."""
        seen = (self.next - segment.sequence) & 0xffffffff
        if not self.judged or seen > 1 << 31:
            self.judged = False     # a segment before this one is missing in the capture
            return
        new = segment.octets[seen:]
        if not new:
            return
        # What ended the segment before went on: only a process that dies leaves the last FPDU of all unfinished.
        if self.waiting and not self.excused:
            self.cut += 1
            self.cuts.append((self.next - self.begun) & 0xffffffff)
            self.places.append(f'ports {segment.flow[1].hex()} to {segment.flow[3].hex()}: {len(self.waiting)} octets of an FPDU '
                               f'before octet {(self.next - self.begun) & 0xffffffff} of the stream; windows ended at '
                               f'{[(edge - self.begun) & 0xffffffff for edge in self.edges]}')
        # Linux cuts all of a message anew behind such a place, until its end, which is 64 KiB behind it at most [WIRE 3.4.7].
        left = self.excused - len(new) if self.waiting else 0
        self.next = (self.next + len(new)) & 0xffffffff
        is_place = self.next in self.edges or option_of(segment, SACK, None) is not None
        self.excused = MESSAGE if is_place else max(left, 0)
        self.waiting += new
        while self.judged and (length := self.unit()) is not None and len(self.waiting) >= length:
            self.waiting = self.waiting[length:]
            self.fpdus += self.started
            self.started = True


def copy_without_used_ports(path, copy):
    """Copies a capture without connections that have the ports of an earlier one; returns how many
    were left out."""
    begun, again = {}, set()
    with open(path, 'rb') as file, open(copy, 'wb') as out:
        out.write(file.read(24))
        for record, frame in frames(path):
            segment = segment_of(frame)
            if segment is not None:
                pair = frozenset((segment.flow[:2], segment.flow[2:]))
                if segment.flags & (SYN | ACK) == SYN and begun.setdefault(pair, segment.sequence) != segment.sequence:
                    again.add(pair)
                if pair in again:
                    continue
            out.write(record + frame)
    return len(again)


def streams_of(path, addresses):
    """A Stream for each connection that begins in the capture, with the octets that those addresses
    sent."""
    sources = {socket.inet_pton(socket.AF_INET6 if ':' in one else socket.AF_INET, one) for one in addresses}
    streams = []
    open_streams, scales = {}, {}
    for _, frame in frames(path):
        segment = segment_of(frame)
        if segment is None:
            continue
        if segment.flags & SYN:
            scales[segment.flow] = option_of(segment, SCALE, 0)
        opposite = open_streams.get(segment.flow[2:] + segment.flow[:2])
        if opposite is not None and not segment.flags & SYN:
            opposite.edges.append((segment.acknowledged + (segment.window << scales.get(segment.flow, 0))) & 0xffffffff)
        if segment.flow[0] not in sources:
            continue
        if segment.flags & SYN:
            known = open_streams.get(segment.flow)
            if known is None or known.next != (segment.sequence + 1) & 0xffffffff:
                open_streams[segment.flow] = Stream(segment)
                streams.append(open_streams[segment.flow])
        elif segment.octets and segment.flow in open_streams:
            open_streams[segment.flow].take(segment)
    return streams


def aligned(path, addresses, places=None):
    """{MTU: (FPDUs that those addresses sent, segments that ended inside one)}; `places` gets a
    line for each such segment."""
    total = {}
    for stream in streams_of(path, addresses):
        if stream.judged and stream.fpdus:
            fpdus, cut = total.get(stream.mtu, (0, 0))
            total[stream.mtu] = (fpdus + stream.fpdus, cut + stream.cut)
            if places is not None:
                places += stream.places
    return total
