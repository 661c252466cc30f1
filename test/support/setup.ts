import fc from 'fast-check';
import { SEED } from './chance.js';

fc.configureGlobal({ seed: SEED });
