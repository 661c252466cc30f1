import { parseArgs } from 'node:util';

export interface Arguments {
  /** SQLite file; a fresh one in the temporary directory when left out. */
  readonly db: string | undefined;
  /** Directory of transaction Bundles; generated data when left out. */
  readonly data: string | undefined;
  /** Number of patients to generate. */
  readonly patients: number;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run quickstart -- [options]

Imports clinical data into a SQLite file and answers five FHIR GraphQL queries over it.

  --patients N  number of patients to make up (default 20; each brings about 280 resources)
  --data DIR    import the transaction Bundles in DIR (.json, .json.gz) instead, such as Synthea's
  --db FILE     SQLite file to use (default: a fresh one in the temporary directory)
  --help        this text
`;

/** A mistake of whoever started the program: its message is all there is to say. */
export class UsageError extends Error {}

/** @throws UsageError */
export function parseArguments(args: readonly string[]): Arguments {
  const { patients: text, ...values } = parseOptions(args);
  const patients = Number(text);
  if (!Number.isSafeInteger(patients) || patients < 1 || patients > 100_000) {
    throw new UsageError(`--patients must be a whole number from 1 to 100000, not "${text}"`);
  }
  return { db: values.db, data: values.data, patients, help: values.help };
}

function parseOptions(args: readonly string[]): { db?: string; data?: string; patients: string; help: boolean } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        db: { type: 'string' },
        data: { type: 'string' },
        patients: { type: 'string', default: '20' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('\n')[0]!} Try --help.`);
  }
}
