import { afterAll } from 'vitest';
import { forgetProgram } from '../support/compile.js';
// One file runs all tests that compile: they share a program, which takes longer to make than their checks.
import '../clients/urql-types.js';
import '../docs/code-blocks.js';
import '../tools/codegen.js';
import '../tools/gql-tada.js';
import './optional-options.js';
import './public-types.js';

// Half a gigabyte, which the collector would go through for the tests that follow.
afterAll(forgetProgram);
