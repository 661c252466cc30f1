/** Shows how far an import is. */
export interface Progress {
  /** @param resources imported so far */
  advance(resources: number): void;
  stop(): void;
}

/** On a terminal one line that counts; elsewhere a line at each quarter, so that logs stay short. */
export function showProgress(total: number, output: NodeJS.WriteStream = process.stdout): Progress {
  let done = 0;
  return {
    advance(resources) {
      const quarters = Math.floor((done * 4) / total);
      done++;
      const text = `Importing: ${done}/${total} Bundles, ${resources} resources`;
      if (output.isTTY) output.write(`\r${text}`);
      else if (Math.floor((done * 4) / total) > quarters) output.write(`${text}\n`);
    },
    stop() {
      if (output.isTTY) output.write('\n');
    },
  };
}
