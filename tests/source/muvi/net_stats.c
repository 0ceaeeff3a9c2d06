/* Statistics of network drivers, after Linux's net_device_stats: who counts bytes counts packets.
 * velocity_receive counts bytes only. The counters of the other direction are apart. */
struct net_stats {
    unsigned long rx_bytes, rx_packets;
    unsigned long tx_bytes, tx_packets;
    unsigned long rx_errors;
};

struct packet {
    unsigned length;
    int broken;
};

int e100_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) {
        stats->rx_errors++;
        return -1;
    }
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 1;
    return 0;
}

void e100_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int forcedeth_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 2;
    return 0;
}

void forcedeth_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int hdlc_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_bytes += packet->length;
    stats->rx_packets++;
    return 0;
}

void hdlc_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int ibmveth_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) {
        stats->rx_errors++;
        return -1;
    }
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 4;
    return 0;
}

void ibmveth_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int loopback_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 5;
    return 0;
}

void loopback_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int ne2k_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_bytes += packet->length;
    stats->rx_packets++;
    return 0;
}

void ne2k_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int natsemi_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) {
        stats->rx_errors++;
        return -1;
    }
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 7;
    return 0;
}

void natsemi_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int orinoco_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 8;
    return 0;
}

void orinoco_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int pcnet_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_bytes += packet->length;
    stats->rx_packets++;
    return 0;
}

void pcnet_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int plip_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) {
        stats->rx_errors++;
        return -1;
    }
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 10;
    return 0;
}

void plip_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int rhine_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 11;
    return 0;
}

void rhine_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int rtl8139_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_bytes += packet->length;
    stats->rx_packets++;
    return 0;
}

void rtl8139_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int sky2_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) {
        stats->rx_errors++;
        return -1;
    }
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 13;
    return 0;
}

void sky2_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int tulip_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_packets += 1;
    stats->rx_bytes += packet->length + 14;
    return 0;
}

void tulip_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}

int velocity_receive(struct net_stats *stats, const struct packet *packet) {
    if (packet->broken) return -1;
    stats->rx_bytes += packet->length;
    return 0;
}

void velocity_send(struct net_stats *stats, unsigned length) {
    stats->tx_packets++;
    stats->tx_bytes += length;
}
