import { parseArgs } from 'node:util';

export interface Arguments {
  /** SQLite file; a fresh one in the temporary directory when left out. */
  readonly db: string | undefined;
  /** Directory of transaction Bundles; generated data when left out. */
  readonly data: string | undefined;
  /** Number of patients to generate. */
  readonly patients: number;
  /** Serve GraphiQL over the data, and do not print queries. */
  readonly serve: boolean;
  /** Port of GraphiQL on this machine; 0 takes a free one. */
  readonly port: number;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run quickstart -- [options]

Imports clinical data into a SQLite file and runs five FHIR GraphQL queries on it.

  --patients N  number of patients to generate (default 20; each has about 280 resources)
  --data DIR    import the transaction Bundles in DIR (.json, .json.gz) instead, for example from Synthea
  --db FILE     SQLite file to use (default: a fresh one in the temporary directory)
  --serve       open GraphiQL over the data at http://127.0.0.1:8080, and print no queries
  --port N      port for --serve (default 8080; 0 takes a free one)
  --help        print this text
`;

/** A mistake on the command line. The program prints the message without a stack. */
export class UsageError extends Error {}

/** @throws UsageError */
export function parseArguments(args: readonly string[]): Arguments {
  const { db, data, serve, help, ...numbers } = parseOptions(args);
  const patients = wholeNumber('--patients', numbers.patients, 1, 100_000);
  const port = wholeNumber('--port', numbers.port, 0, 65_535);
  return { db, data, patients, serve, port, help };
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new UsageError(`${option} must be a whole number from ${least} to ${most}, not "${text}"`);
}

interface Options {
  readonly db?: string;
  readonly data?: string;
  readonly patients: string;
  readonly serve: boolean;
  readonly port: string;
  readonly help: boolean;
}

function parseOptions(args: readonly string[]): Options {
  try {
    return parseArgs({
      args: [...args],
      options: {
        db: { type: 'string' },
        data: { type: 'string' },
        patients: { type: 'string', default: '20' },
        serve: { type: 'boolean', default: false },
        port: { type: 'string', default: '8080' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('\n')[0]!} Try --help.`);
  }
}
