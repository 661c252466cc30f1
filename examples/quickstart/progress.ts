import cliProgress from 'cli-progress';

/** Shows how far an import is. */
export interface Progress {
  /** @param resources imported so far */
  advance(resources: number): void;
  stop(): void;
}

/** A bar on a terminal; elsewhere a line at each quarter, so that logs stay short. */
export function showProgress(total: number, output: NodeJS.WriteStream = process.stdout): Progress {
  return output.isTTY ? bar(total, output) : quarterLines(total, output);
}

function bar(total: number, output: NodeJS.WriteStream): Progress {
  const format = 'Importing {bar} {percentage} % · {value}/{total} Bundles · {resources} resources';
  const shown = new cliProgress.SingleBar(
    { format, stream: output, hideCursor: true },
    cliProgress.Presets.shades_classic,
  );
  shown.start(total, 0, { resources: 0 });
  return {
    advance: (resources) => shown.increment(1, { resources }),
    stop: () => shown.stop(),
  };
}

function quarterLines(total: number, output: NodeJS.WriteStream): Progress {
  let done = 0;
  return {
    advance(resources) {
      done++;
      if (Math.floor((done * 4) / total) > Math.floor(((done - 1) * 4) / total)) {
        output.write(`Importing: ${done}/${total} Bundles, ${resources} resources\n`);
      }
    },
    stop: () => undefined,
  };
}
