import type { JsonObject } from '../resource.js';
import type { Walk } from './walk.js';

/** A constraint on an element's value beyond its type; findings go to the walk. */
export type ElementRule = (value: never, walk: Walk) => void;

/** A rule for complex elements. */
export type ObjectRule = (value: JsonObject, walk: Walk) => void;
