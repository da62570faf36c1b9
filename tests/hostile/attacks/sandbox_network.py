"""A box has no network: no address answers, and no socket but those of TCP, UDP, unix and the routing table is made."""

from __future__ import annotations

from tests.hostile.probes import row

NOWHERE = ("ENETUNREACH", "EADDRNOTAVAIL", "EHOSTUNREACH")
NO_FAMILY = ("EPERM",)

row("tcp4", "opens a TCP connection to an IPv4 address of the internet", *NOWHERE)
row("tcp6", "opens a TCP connection to an IPv6 address of the internet", *NOWHERE)
row("udp4", "sends a UDP packet to an IPv4 address", *NOWHERE)
row("udp6", "sends a UDP packet to an IPv6 address", *NOWHERE)
row("broadcast", "sends a UDP packet to a private network's broadcast address", *NOWHERE)
row("metadata4", "asks the cloud's metadata service, 169.254.169.254", *NOWHERE)
row("metadata6", "asks the cloud's metadata service, fd00:ec2::254", *NOWHERE)
row(
    "host_addresses", "connects to a port open on every address of the host, its bridge's too", *NOWHERE, "ECONNREFUSED"
)
row("dns", "resolves a name", "gaierror")
row("dns_servers", "asks name servers directly over UDP and TCP, loopback ones too", *NOWHERE, "ECONNREFUSED")
row("icmp", "sends pings: an ICMP socket", *NO_FAMILY)
row("icmp6", "sends pings: an ICMPv6 socket", *NO_FAMILY)
row("raw_ip", "makes its own IP packets: a raw socket", *NO_FAMILY)
row("packet", "makes its own frames: a packet socket", *NO_FAMILY)
row("vsock_host", "calls the hypervisor over a vsock", *NO_FAMILY)
row("netlink_new_interface", "adds a network interface over netlink", "EPERM")
row("netlink_new_address", "gives loopback an address of the engine's bridge over netlink", "EPERM")
row("netlink_other_interfaces", "looks for an interface beside loopback", "lo alone")
row("netlink_netfilter", "speaks to the packet filter over netlink", *NO_FAMILY)
row("netlink_xfrm", "speaks to IPsec over netlink", *NO_FAMILY)
row("netlink_audit", "speaks to the audit service over netlink", *NO_FAMILY)
row("engine_sockets", "asks the container engine over its socket", "ENOENT", "EACCES")
row("sockets_anywhere", "looks for a unix socket in every folder", "no socket in any folder")
row("abstract_sockets", "connects to an abstract unix socket of the host", "ECONNREFUSED")
row("other_box_tcp", "connects to a port that another box opened on loopback", "ECONNREFUSED")
row("other_box_abstract", "connects to another box's abstract unix socket", "ECONNREFUSED")
