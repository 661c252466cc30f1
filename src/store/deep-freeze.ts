/** Freezes a JSON value and everything in it. Works on any depth, without recursion. @returns the value itself. */
export function deepFreeze<Value>(value: Value): Value {
  freezeSome([value], Infinity);
  return value;
}

/** {@link deepFreeze} in steps. */
export function* freezing(value: unknown): Generator<void, void> {
  const open = [value];
  while (open.length > 0) {
    freezeSome(open, STEP_SIZE);
    yield;
  }
}

/** Values frozen in a step: about 0.3 ms. */
const STEP_SIZE = 2_048;

function freezeSome(open: unknown[], most: number): void {
  for (let left = most; left > 0 && open.length > 0; left -= 1) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null || Object.isFrozen(one)) continue;
    Object.freeze(one);
    for (const inner of Object.values(one)) {
      if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
  }
}
