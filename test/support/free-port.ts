import { once } from 'node:events';
import { createServer } from 'node:net';

/** Systems give ports from 32768 on to whoever asks for any, as each connection does. */
const [FIRST, COUNT, PER_PROCESS] = [20_000, 12_000, 100];
let asked = 0;

/** A port for a program that must be named one: free now, and nobody else is given it before the program has it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + ((process.pid * PER_PROCESS + (asked++ % PER_PROCESS)) % COUNT);
    const probe = createServer();
    try {
      await once(probe.listen(port, '127.0.0.1'), 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
