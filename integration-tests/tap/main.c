/* Writes down what travels between the processes of one kndl: each TCP segment on loopback whose
 * port is one of PORTS from FIRST on, as a line "FROM PORT TO PORT SEQUENCE FLAGS SIZE" and SIZE
 * bytes. Runs until its standard input ends, and says on standard error how many were lost.
 * README.md of integration-tests says what for. */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A service's burst while this process does not run. */
enum { PORTS = 3, PACKET_BYTES = 128 * 1024, QUEUE_BYTES = 256 * 1024 * 1024 };

static void must(int done, const char *what)
{
    if (done >= 0)
        return;
    fprintf(stderr, "kndl-tap: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* IPv4 and TCP, and either port among ours; everything else stays in the kernel. */
static void filter_ports(int fd, unsigned first)
{
    enum { TYPE_AT = 12, PROTOCOL_AT = 23, IP_AT = 14 };
    const unsigned last = first + PORTS - 1;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, 10),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PROTOCOL_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 8),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, IP_AT),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, IP_AT),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 1),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, IP_AT + 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, PACKET_BYTES),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};

    must(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), "filter");
}

static int open_loopback(unsigned first)
{
    const int on = 1;
    const int queue = QUEUE_BYTES;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* nothing comes before it is bound */
    struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};

    must(fd, "a packet socket");
    filter_ports(fd, first);
    /* On loopback each packet goes out and comes in. */
    must(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on), "incoming alone");
    must(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof queue), "its queue");
    where.sll_ifindex = (int)if_nametoindex("lo");
    must(bind(fd, (const struct sockaddr *)&where, sizeof where), "loopback");
    return fd;
}

static void write_segment(const uint8_t *packet, size_t size)
{
    struct iphdr ip;
    struct tcphdr tcp;
    size_t ip_size, head;

    if (size < ETH_HLEN + sizeof ip)
        return;
    memcpy(&ip, packet + ETH_HLEN, sizeof ip);
    ip_size = (size_t)ip.ihl * 4;
    if (size < ETH_HLEN + ip_size + sizeof tcp)
        return;
    memcpy(&tcp, packet + ETH_HLEN + ip_size, sizeof tcp);
    head = ip_size + (size_t)tcp.doff * 4;
    size_t whole = ntohs(ip.tot_len);
    if (whole == 0) /* larger than the field holds */
        whole = size - ETH_HLEN;
    if (whole < head || whole > size - ETH_HLEN)
        return;
    if (whole == head && !tcp.syn)
        return;
    printf("%08x %u %08x %u %u %c %zu\n", ntohl(ip.saddr), ntohs(tcp.source), ntohl(ip.daddr),
           ntohs(tcp.dest), ntohl(tcp.seq), tcp.syn ? 'S' : '-', whole - head);
    fwrite(packet + ETH_HLEN + head, 1, whole - head, stdout);
}

int main(int argc, char **argv)
{
    static uint8_t packet[PACKET_BYTES];
    struct tpacket_stats lost = {0};
    socklen_t lost_size = sizeof lost;

    if (argc != 2) {
        fputs("kndl-tap FIRST-PORT\n", stderr);
        return 2;
    }
    int fd = open_loopback((unsigned)strtoul(argv[1], NULL, 10));
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};

    fputs("kndl-tap: listens\n", stderr);
    for (;;) {
        ssize_t size = recv(fd, packet, sizeof packet, MSG_DONTWAIT);
        if (size >= 0) {
            write_segment(packet, (size_t)size);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            must(-1, "recv");
        if (fds[1].revents != 0) /* and nothing is left */
            break;
        (void)poll(fds, 2, -1);
    }
    must(getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &lost_size), "statistics");
    if (fflush(stdout) != 0)
        must(-1, "standard output");
    fprintf(stderr, "kndl-tap: lost %u\n", lost.tp_drops);
    return lost.tp_drops > 0;
}
