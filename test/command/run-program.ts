import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { runCommand } from '../../src/command/run-command.js';
import { LOADER } from '../support/load-typescript.js';

const PROGRAM = fileURLToPath(new URL('../../src/command.ts', import.meta.url));

/** What the program `fhirgraph` did. */
export interface ProgramRun {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs the program `fhirgraph` in a process of its own, as an operator would. */
export async function runProgram(args: readonly string[], input?: string): Promise<ProgramRun> {
  const child = spawn(process.execPath, ['--import', LOADER, PROGRAM, ...args], { stdio: 'pipe' });
  child.stdin.end(input);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode!, output, errors };
}

/** The same within this process, where nobody else has the database open: starting a process takes most of the time. */
export async function runHere(args: readonly string[]): Promise<ProgramRun> {
  const written = { stdout: '', stderr: '' };
  const kept = { stdout: process.stdout.write, stderr: process.stderr.write };
  const names = ['stdout', 'stderr'] as const;
  for (const name of names) process[name].write = (text: unknown) => ((written[name] += String(text)), true);
  try {
    const code = await runCommand(args);
    return { code, output: written.stdout, errors: written.stderr };
  } finally {
    for (const name of names) process[name].write = kept[name];
  }
}

/** The JSON that the program writes with `--json`. */
export async function jsonOf(args: readonly string[], input?: string): Promise<{ code: number; json: never }> {
  const { code, output } = await runProgram([...args, '--json'], input);
  return { code, json: JSON.parse(output) as never };
}
