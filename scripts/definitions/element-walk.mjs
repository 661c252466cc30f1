/** The element rows that a path reaches from a type; choices count once, with all their types. */
export function elementsAt(types, base, steps) {
  let owners = [base];
  let reached = [];
  for (const step of steps) {
    if (typeof step === 'string') {
      reached = owners.flatMap((owner) => (types[owner]?.elements ?? []).filter((element) => names(element, step)));
    } else if (step.ofType !== undefined) {
      reached = reached.map((element) => ({ ...element, type: onlyType(element.type, step.ofType) }));
    }
    owners = reached.flatMap((element) => element.type.split(' ').map(bareType));
  }
  return reached;
}

function names(element, name) {
  return element.name === name || element.name === `${name}[x]`;
}

function onlyType(text, name) {
  return (
    text
      .split(' ')
      .filter((type) => bareType(type) === name)
      .join(' ') || name
  );
}

function bareType(type) {
  return type.replace(/\(.*$/, '');
}
