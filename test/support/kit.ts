/** The parts of the conformance kit that tests use: resources, queries, writes and random values. */
export * from '../../src/testing/conformance-case.js';
export * from '../../src/testing/random.js';
export { randomResources } from '../../src/testing/random-resources.js';
