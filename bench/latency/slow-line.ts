import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy to a server that delays every answer. */
export interface SlowLine {
  readonly port: number;
  close(): void;
}

/** Forwards everything to a local port, and returns the answers after `delay` milliseconds, like a network with that latency. */
export async function openSlowLine(port: number, delay: number): Promise<SlowLine> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => [near, far].forEach((one) => one.destroy()));
    }
    near.pipe(far);
    // Timers of the same delay fire in order.
    far.on('data', (chunk) => setTimeout(() => near.write(chunk), delay));
    far.on('end', () => setTimeout(() => near.end(), delay));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
