import { parseArgs } from 'node:util';
import { createAuditLog } from '../audit/log/create-audit-log.js';
import { FhirError } from '../fhir/error.js';
import {
  type Command,
  type CommandOption,
  type CommandReport,
  type CommandValues,
  textOf,
  UsageError,
} from './command.js';
import { COMMANDS } from './commands.js';
import { openDatabase } from './open-database.js';

/** Options of every command. */
const COMMON: { readonly [name: string]: CommandOption } = {
  definitions: { type: 'string', value: '<module>', about: 'exports the definitions of the database as its default' },
  json: { type: 'boolean', about: 'write one JSON object' },
  help: { type: 'boolean', about: 'show this' },
};

/**
 * Runs the program `fhirgraph`: results go to the standard output, progress and errors to standard error.
 *
 * @returns the exit code: 0 right, 1 the database has problems or the work failed, 2 wrong arguments
 */
export async function runCommand(args: readonly string[]): Promise<0 | 1 | 2> {
  const [name = '', ...rest] = args;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  let values: CommandValues = { json: rest.includes('--json') };
  try {
    if (name === '--help' || name === '-h') return printed(overview());
    if (command === undefined)
      throw new UsageError(name === '' ? 'A command is missing' : `There is no command ${name}`);
    const parsed = parse(command, rest);
    values = parsed.values;
    if (values['help'] === true) return printed(usageOf(name, command));
    const report = await carryOut(command, operandsOf(command, parsed), values);
    const text = values['json'] === true ? JSON.stringify(report.json) : report.lines.join('\n');
    (report.isAside === true ? process.stderr : process.stdout).write(`${text}\n`);
    return report.isRight ? 0 : 1;
  } catch (error) {
    if (error instanceof UsageError) {
      const usage = command === undefined ? overview() : usageOf(name, command);
      process.stderr.write(`${error.message}\n\n${usage}\n`);
      return 2;
    }
    const { code, message } = faultOf(error);
    if (values['json'] === true) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
    process.stderr.write(`fhirgraph ${name}: ${message}\n`);
    return 1;
  }
}

function printed(text: string): 0 {
  process.stdout.write(`${text}\n`);
  return 0;
}

interface Parsed {
  readonly values: CommandValues;
  readonly positionals: readonly string[];
}

/** @throws UsageError */
function parse({ options }: Command, args: readonly string[]): Parsed {
  const known = Object.entries({ ...options, ...COMMON }).map(([name, { type }]) => [name, { type }] as const);
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(known), allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The database and what else the command takes. @throws UsageError */
function operandsOf({ operands, options }: Command, { values, positionals }: Parsed): readonly string[] {
  const names = ['database', ...operands];
  const missing =
    names.slice(positionals.length).map((name) => `<${name}>`)[0] ??
    Object.entries(options).flatMap(([name, { required }]) =>
      required === true && values[name] === undefined ? `--${name}` : [],
    )[0];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  if (positionals.length > names.length) throw new UsageError('There are too many arguments');
  if (positionals.includes('')) throw new UsageError('An argument is empty');
  return positionals;
}

async function carryOut(
  command: Command,
  [database = '', ...operands]: readonly string[],
  options: CommandValues,
): Promise<CommandReport> {
  const end = new AbortController();
  const stop = (): void => end.abort();
  for (const signal of SIGNALS) process.once(signal, stop);
  const withLog = options['audit-log'] === true;
  const opened = await openDatabase(database, {
    opening: options['take-over'] === true ? 'owner' : withLog ? 'user' : command.opening,
    definitions: textOf(options, 'definitions'),
    needsDefinitions: command.needsDefinitions === true,
    create: options['create'] === true,
  });
  const log = withLog ? createAuditLog({ store: opened.store }) : undefined;
  try {
    return await command.run({
      ...opened,
      ...{ operands, options, signal: end.signal, progress: progressOf() },
      audited: log === undefined ? {} : { audit: log.audit, requireAudit: true },
    });
  } finally {
    await log?.close();
    await opened.close();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Lines on standard error: the first at once, then one per second at most. */
function progressOf(): (text: string) => void {
  let last = -Infinity;
  return (text) => {
    const now = performance.now();
    if (now - last < PROGRESS_MS) return;
    last = now;
    process.stderr.write(`${text}\n`);
  };
}

const PROGRESS_MS = 1_000;

/** Errors of the system name the file, and no content. */
function faultOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof FhirError) return { code: error.code, message: error.message };
  const { code = 'internal', message } = error as NodeJS.ErrnoException;
  return { code, message };
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return ['Usage: fhirgraph <command> <database> …', '', ...lines, '', DATABASE].join('\n');
}

const DATABASE = `The database is a SQLite file or a PostgreSQL URL. "fhirgraph <command> --help" shows the options.
Exit codes: 0 right, 1 problems, 2 wrong arguments.`;

function usageOf(name: string, { summary, operands, options }: Command): string {
  const all = { ...options, ...COMMON };
  const shown = Object.entries(all).map(([option, { value, about, required }]) => {
    const text = `--${option}${value === undefined ? '' : ` ${value}`}`;
    return `  ${text.padEnd(24)}${about}${required === true ? ' (required)' : ''}`;
  });
  const places = ['database', ...operands].map((one) => `<${one}>`).join(' ');
  return [`Usage: fhirgraph ${name} ${places} [options]`, '', `${summary}.`, '', ...shown].join('\n');
}
