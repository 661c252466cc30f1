export {
  type ConformanceRunner,
  type ConformanceSkip,
  type ConformanceOptions,
  storeConformance,
} from './testing/store-conformance.js';
