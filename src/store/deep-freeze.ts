/** Freezes a JSON value and everything in it. Works on any depth, without recursion. @returns the value itself */
export function deepFreeze<Value>(value: Value): Value {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null || Object.isFrozen(one)) continue;
    Object.freeze(one);
    for (const inner of Object.values(one)) {
      if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
  }
  return value;
}
