/** True for an object that JSON can carry, of any realm, and no instance of a class. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || isForeignRoot(prototype as object);
}

/** Objects of another realm (a worker's, a test runner's) are plain too: their prototype has no prototype. */
function isForeignRoot(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty');
}
