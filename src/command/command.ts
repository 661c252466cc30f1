import type { AuditOptions } from '../audit/audit.js';
import type { PostgresStore } from '../stores/postgres/store.js';
import type { SqliteStore } from '../stores/sqlite/store.js';

/** One command of the program `fhirgraph`, as data. */
export interface Command {
  readonly summary: string;
  /** The names of the arguments after the database, for the usage. */
  readonly operands: readonly string[];
  readonly options: { readonly [name: string]: CommandOption };
  /** What the command does to the database; `--take-over` and `--create` allow more. */
  readonly opening: 'reader' | 'user';
  /** Refuses a database that was written with other definitions: what it says would be about a part only. */
  readonly needsDefinitions?: true;
  run(work: CommandWork): Promise<CommandReport>;
}

/** An option of a command. */
export interface CommandOption {
  readonly type: 'string' | 'boolean';
  /** For the usage: `<id>`. */
  readonly value?: string;
  readonly required?: true;
  readonly about: string;
}

/** A database that a command has open. */
export interface OpenedStore {
  readonly store: SqliteStore | PostgresStore;
  readonly close: () => Promise<void>;
}

/** What a command works with. */
export interface CommandWork extends OpenedStore {
  readonly operands: readonly string[];
  readonly options: CommandValues;
  /** With `--audit-log`, the audit log of the database. */
  readonly audited: Pick<AuditOptions, 'audit' | 'requireAudit'>;
  readonly signal: AbortSignal;
  /** Shows the operator how far long work is; at most once per second. */
  readonly progress: (text: string) => void;
}

/** The options as they were given. */
export interface CommandValues {
  readonly [name: string]: string | boolean | undefined;
}

/** What a command found or did. */
export interface CommandReport {
  /** False: the command found problems, and the program exits with 1. */
  readonly isRight: boolean;
  /** The output with `--json`. */
  readonly json: object;
  /** The output for people, a line each. */
  readonly lines: readonly string[];
  /** The output goes to standard error, because the standard output holds data. */
  readonly isAside?: boolean | undefined;
}

/** A mistake in the arguments: the program exits with 2. */
export class UsageError extends Error {}

/** The text of an option; undefined if it was not given. */
export function textOf(values: CommandValues, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}
