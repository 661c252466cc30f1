import { once } from 'node:events';
import { createServer } from 'node:net';

/** Systems assign ports from 32768 on to connections and to programs that request any port. */
const [FIRST, COUNT, PER_PROCESS] = [20_000, 12_000, 100];
let asked = 0;

/** A port for a program that needs a fixed one: free now, and not assigned to others before the program has it. */
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
