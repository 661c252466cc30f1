#!/usr/bin/env node
// The program `fhirgraph` of the package, for operators. Nobody imports it.

import { runCommand } from './command/run-command.js';

process.exitCode = await runCommand(process.argv.slice(2));
