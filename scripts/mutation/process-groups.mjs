// Processes that end with this one, and their own children with them.
import { spawn } from 'node:child_process';

/** Signals that end this process, and the exit codes that a shell gives them. */
const ENDING = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

const running = new Set();

/**
 * Starts a process in a group of its own, which {@link endGroup} ends as a whole. The group ends when this process does,
 * also by Ctrl+C.
 */
export function spawnGroup(command, args, options) {
  if (running.size === 0) for (const signal of Object.keys(ENDING)) process.on(signal, endAll);
  const child = spawn(command, args, { ...options, detached: true });
  running.add(child);
  child.once('close', () => {
    running.delete(child);
    if (running.size === 0) for (const signal of Object.keys(ENDING)) process.off(signal, endAll);
  });
  return child;
}

/** Ends a process and its children at once. */
export function endGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // The group has ended by itself.
    if (error.code !== 'ESRCH') throw error;
  }
}

function endAll(signal) {
  process.exit(ENDING[signal]);
}

process.on('exit', () => running.forEach(endGroup));
