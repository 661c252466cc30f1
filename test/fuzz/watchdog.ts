import { Worker } from 'node:worker_threads';

/** Processor time that no input may take, in milliseconds: a hundred times what they take. */
const LONGEST = 1000;
/** After this long, in milliseconds of the clock, an input will never end. */
const NEVER = 60_000;

/**
 * Ends what does not end by itself. An endless loop blocks the thread that it is in, timers and all, so another thread
 * has the clock: it prints the input and kills the process.
 */
export interface Watchdog {
  /** @throws Error - the work took more than a second of processor time */
  watch<Result>(label: string, work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export function openWatchdog(): Watchdog {
  const worker = new Worker(PROGRAM, { eval: true, workerData: NEVER });
  worker.unref();
  return {
    async watch(label, work) {
      worker.postMessage(label);
      const start = process.cpuUsage();
      try {
        return await work();
      } finally {
        worker.postMessage(null);
        const { user, system } = process.cpuUsage(start);
        const time = (user + system) / 1000;
        // eslint-disable-next-line no-unsafe-finally -- an error of the work matters less than that it hung
        if (time > LONGEST) throw new Error(`Took ${Math.round(time)} ms of processor time`);
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
