import { Worker } from 'node:worker_threads';

/** After this long, in milliseconds, an input will never end, however busy the machine is. */
const NEVER = 900_000;

/**
 * Ends a call that does not end. An endless loop blocks its thread, including timers, so another thread
 * has the clock. It prints the input and kills the process.
 */
export interface Watchdog {
  watch<Result>(label: string, work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export function openWatchdog(): Watchdog {
  const worker = new Worker(PROGRAM, { eval: true, workerData: NEVER });
  worker.unref();
  return {
    async watch(label, work) {
      worker.postMessage(label);
      try {
        return await work();
      } finally {
        worker.postMessage(null);
      }
    },
    async close() {
      await worker.terminate();
    },
  };
}

const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  let timer;
  parentPort.on('message', (label) => {
    clearTimeout(timer);
    if (label === null) return;
    timer = setTimeout(() => {
      require('node:fs').writeSync(2, 'Never ends: ' + label + '\\n');
      process.kill(process.pid, 'SIGKILL');
    }, workerData);
  });
`;
